"""The semantics of expressions: functions of the rule language, and operators of SPARQL."""
