"""What a knowledge base can do beyond rules and facts: named graphs, ontologies, stores, explanations."""
