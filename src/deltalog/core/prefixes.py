"""The prefixes that every program, goal and name may use without declaring them."""

from __future__ import annotations

from deltalog.core.terms import RDF, XSD

PREFIXES = {
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
}
