"""What an expression means: the language's own functions and SPARQL's operators."""
