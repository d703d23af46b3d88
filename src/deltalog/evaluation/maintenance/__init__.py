"""Keeping a materialisation right while facts and rules change."""
