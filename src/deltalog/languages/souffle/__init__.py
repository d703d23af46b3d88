"""Soufflé's language: text to our rules, and what its directives say about files.

    text -> tokens (preprocessed) -> parser -> tree -> components -> inlining -> types -> lowering -> Rule

Nothing of it is known to an engine: a program becomes ordinary rules, with the functions of
`deltalog.functions.souffle_functors` for arithmetic of 32 bits, strings and records.
"""
