"""Equality by representatives (Motik, Nenov, Piro and Horrocks, AAAI 2015).

recognise     which rules say that owl:sameAs is equality, and for which relations
rewrite       the other rules, over representatives in the place of equal individuals
links         which individuals a state makes equal
suspects      which classes may have lost what made them equal
witnesses     why a rule derives its facts, without all names of everything
materialise   classes and facts to the common fixpoint, and from one such state to the next
"""
