"""Languages of programs and queries, one folder each, and what reads a program in any of them."""
