"""Named graphs of a knowledge base, and SPARQL Update."""
