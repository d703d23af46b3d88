"""Hypertree decompositions of cyclic rule bodies: decompose, choose, rewrite, draw."""
