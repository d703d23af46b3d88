"""Answers without a materialisation."""
