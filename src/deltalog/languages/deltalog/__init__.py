"""Text to immutable rules, and back."""
