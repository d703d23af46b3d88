"""Engines: where rows live and how the algebra runs on them."""
