"""Explanations: why a fact holds, why it does not, and what rests on it."""
