"""SPARQL as rules.

    tokens        text -> tokens                      tokens.py
    parse         tokens -> algebra                   token_reader.py, parse_expressions.py, parse_patterns.py, parse.py
    expressions   SPARQL's expressions -> ours        expressions.py
    patterns      graph patterns -> bodies and rules  patterns.py, paths.py
    query         a query -> rules and a goal         query.py
    answer        rules and a goal -> solutions       answer.py, solutions.py, construct.py
    results       solutions -> text in a format       results.py

Queries that the standard forbids are errors with their place. Unsupported features are refused by name, before anything
is evaluated.
"""
