"""Nemo's language: text to our rules, and what its directives say about files.

    text -> words (lexer) -> statements (parser, tree) -> rules and directives (lower)

Nothing of it is known to an engine: a program becomes ordinary rules, with the functions of
`deltalog.functions.nemo_functions` where Nemo's mean something else than ours. Existential rules become rules with
SKOLEM that are marked as such (`deltalog.core.existential`), and are evaluated by `deltalog.evaluation.chase`.
"""
