"""SPARQL as rules.

    parse         text -> rdflib's algebra            parse.py
    expressions   rdflib's expressions -> ours        expressions.py
    patterns      graph patterns -> bodies and rules  patterns.py, paths.py
    query         a query -> rules and a goal         query.py
    answer        rules and a goal -> solutions       answer.py, solutions.py

rdflib reads the text and knows SPARQL's grammar; nothing of its evaluation is used. What we do not support is refused
by its name, before anything is evaluated.
"""
