"""SPARQL as rules.

    tokens        text -> tokens                      tokens.py
    parse         tokens -> algebra (`tree`)          reader.py, read_expressions.py, read_patterns.py, parse.py
    expressions   SPARQL's expressions -> ours        expressions.py
    patterns      graph patterns -> bodies and rules  patterns.py, paths.py
    query         a query -> rules and a goal         query.py
    answer        rules and a goal -> solutions       answer.py, solutions.py

What the standard forbids is an error with its place. What we do not support is refused by its name, before anything is
evaluated.
"""
