"""RIF Core: documents of RIF/XML to our rules.

    text -> elements with their places (elements) -> rules (read_document), with expressions for built-ins (built_ins)

Nothing of it is known to an engine. Frames and memberships are triples, so rules of RIF apply to RDF data.
"""
