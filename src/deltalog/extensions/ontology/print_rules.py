"""Compiled rules as a program: in groups, with prefixes, under the axioms that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from deltalog.core.rule_text import print_atom, print_iri, print_literal, print_term
from deltalog.core.rules import TRIPLE, Atom, Rule
from deltalog.extensions.ontology.compile import CompiledOntology, Entry
from deltalog.languages.deltalog.lexer import PREFIXES

_LOCAL = re.compile(r"[A-Za-z_](?:[\w-]*\w)?")
_QUOTED_OR_IRI = re.compile(r'"(?:[^"\\]|\\.)*"|<([^<>\s]*)>')


class Prefixes:
    """Short names of IRIs."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.namespaces = {**{namespace: prefix for prefix, namespace in prefixes.items()}, **_ALWAYS}
        self._lengths = sorted({len(namespace) for namespace in self.namespaces}, reverse=True)

    def short(self, iri: str) -> str:
        """An IRI with a prefix, if one fits."""
        for length in self._lengths:
            prefix = self.namespaces.get(iri[:length])
            if prefix is not None and _LOCAL.fullmatch(iri[length:]):
                return f"{prefix}:{iri[length:]}"
        return print_iri(iri)

    def shortened(self, text: str) -> str:
        """A text with all IRIs outside of strings shortened."""
        return _QUOTED_OR_IRI.sub(lambda m: m[0] if m[1] is None else self.short(m[1]), text)


_ALWAYS = {namespace: prefix for prefix, namespace in PREFIXES.items()}


def print_rules(compiled: CompiledOntology, prefixes: Mapping[str, str]) -> str:
    """A program that `deltalog run` reads."""
    names = Prefixes(prefixes)
    declared = [f"PREFIX {prefix}: <{namespace}>" for namespace, prefix in names.namespaces.items()]
    return "\n".join([*sorted(declared), *_groups(compiled, names)]) + "\n"


def _groups(compiled: CompiledOntology, names: Prefixes) -> Iterator[str]:
    entries = [entry for entry in compiled.entries if entry.rules]
    for group, found in groupby(entries, key=lambda entry: entry.group):
        yield f"\n# {group}"
        for entry in found:
            yield from _entry(entry, names)


def _entry(entry: Entry, names: Prefixes) -> Iterator[str]:
    yield f"\n# {entry.axiom}".replace("\n", " ").replace(" #", "\n#", 1)
    yield from (print_rule(rule, names) for rule in entry.rules)


def print_rule(rule: Rule, names: Prefixes) -> str:
    heads = ", ".join(_atom(head, names) for head in rule.heads)
    literals = [
        _atom(each, names) if isinstance(each, Atom) else names.shortened(print_literal(each)) for each in rule.body
    ]
    return f"{heads} :- {', '.join(literals)} ." if literals else f"{heads} ."


def _atom(atom: Atom, names: Prefixes) -> str:
    if ":" not in atom.name or atom.name == TRIPLE:
        return names.shortened(print_atom(atom))
    terms = ", ".join(names.shortened(print_term(term)) for term in atom.terms)
    return f"{names.short(atom.name)}[{terms}]"
