"""Evaluation: plans and their algebra, semi-naive rounds, stages, maintenance, goals, on the protocol of an engine."""
