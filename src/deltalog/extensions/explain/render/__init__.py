"""Explanations as text, JSON, SVG, HTML and Mermaid: a module for each, with a function `render`."""
