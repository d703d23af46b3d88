"""An explanation as a tree of labelled nodes, cut to a size that can be read: what text, SVG, HTML and Mermaid show.

Proofs are graphs. The outline expands each proof once, where a breadth-first search from the asked fact meets it first;
other places refer to it by its number. The search ends when `steps` facts are shown, or at the depth of the
explanation; the outline says how much is hidden. A proof that is deeper than `nesting` goes on in a section of its own,
so that no format has to indent by hundreds of levels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from deltalog.extensions.explain.model import (
    Absent,
    Condition,
    Explanation,
    Group,
    Member,
    Near,
    Premise,
    Proof,
    Refutation,
    RuleAttempt,
    RuleRef,
)
from deltalog.extensions.explain.render.labels import bindings_text, counted, value_text, visible

MOST_NESTED = 16  # refutations inside of each other
MARKS = {"satisfied": "✓ ", "failed": "✗ ", "near": "≈ "}


@dataclass(eq=False)
class OutlineNode:
    """A line of an explanation, and what belongs to it.

    kind: explicit, derived, absent, condition, group, member; attempt, satisfied, failed, near; more (of what is cut).
    """

    kind: str
    label: str
    note: str = ""
    rule: RuleRef | None = None
    bindings: str = ""
    children: list[OutlineNode] = field(default_factory=list)
    number: int = 0  # of a part that other nodes refer to
    see: OutlineNode | None = None  # where this fact is explained

    @property
    def headline(self) -> str:
        """The label with the mark of its kind; empty for an attempt, which has a rule only."""
        return f"{MARKS.get(self.kind, '')}{self.label}" if self.label else ""

    @property
    def remark(self) -> str:
        """The note, where it says more than the rest of the node."""
        if self.see is not None:
            return f"see [{self.see.number}]"
        return "" if self.rule is not None and self.note == "derived" else self.note

    def walk(self) -> Iterator[OutlineNode]:
        """The node and all nodes below it, in reading order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass
class Section:
    """A heading, and trees below it; `continued`: the rest of a tree of another section."""

    heading: str
    nodes: list[OutlineNode]
    continued: bool = False


@dataclass
class Outline:
    """The answer in a line, the trees, and notes on what is hidden."""

    title: str
    sections: list[Section]
    notes: list[str]

    def nodes(self) -> Iterator[OutlineNode]:
        for section in self.sections:
            for node in section.nodes:
                yield from node.walk()


def outline(explanation: Explanation, steps: int, nesting: int) -> Outline:
    """The tree of an explanation with at most about `steps` facts, and at most `nesting` proofs inside each other."""
    made = _Drawn(explanation, steps, nesting)
    sections = made.proofs() if explanation.holds else made.refuted()
    result = Outline(_title(explanation), sections, made.notes())
    referred = {id(node.see) for node in result.nodes() if node.see is not None}
    number = 0
    for node in result.nodes():
        if id(node) in referred:
            number += 1
            node.number = number
    return result


def _title(explanation: Explanation) -> str:
    fact = visible(explanation.fact.text(explanation.prefixes))
    if not explanation.holds:
        return f"{fact} does not hold"
    first = explanation.proofs[0]
    if first.kind == "explicit":
        return f"{fact} holds: explicit{' and derived' if first.also_derived else ''}"
    also = "derived and explicit" if first.also_explicit else "derived"
    return f"{fact} holds: {also}, height {first.height:,}, {counted(first.steps, 'fact')}"


class Expansion:
    """Which proofs are expanded, each at the level and below the proof where breadth-first search meets it first."""

    def __init__(self, roots: Iterable[Proof], steps: float, depth: float) -> None:
        self.levels: dict[int, int] = {}  # of expanded proofs
        self._above: dict[int, int] = {}  # the proof below which a proof is met first
        self._kept = list(roots)  # keeps ids unique
        self.total = len(_reachable(self._kept))
        queue = deque((root, 0) for root in self._kept)
        seen = {id(root) for root in self._kept}
        while queue:
            proof, level = queue.popleft()
            new = {id(part): part for part in proof.parts() if id(part) not in seen}
            if not proof.premises or level >= depth:
                continue
            if level and len(seen) + len(new) > steps:
                break
            self.levels[id(proof)] = level
            self._above |= dict.fromkeys(new, id(proof))
            seen |= new.keys()
            queue.extend((part, level + 1) for part in new.values())
        self.shown = len(seen)

    def is_here(self, proof: Proof, above: Proof | None) -> bool:
        """Whether a proof is expanded below another one (None: as a root)."""
        return id(proof) in self.levels and self._above.get(id(proof)) == (None if above is None else id(above))


def _reachable(roots: Iterable[Proof]) -> set[int]:
    stack = list(roots)
    found = {id(root) for root in stack}
    while stack:
        for part in stack.pop().parts():
            if id(part) not in found:
                found.add(id(part))
                stack.append(part)
    return found


class _Drawn:
    """The making of one outline."""

    def __init__(self, explanation: Explanation, steps: int, nesting: int) -> None:
        self.explanation, self.nesting = explanation, nesting
        self.prefixes = explanation.prefixes
        self.depth = inf if explanation.depth is None else explanation.depth
        self.expansion = Expansion(explanation.proofs, steps, self.depth)
        self.places: dict[int, OutlineNode] = {}  # nodes of expanded proofs
        self.waiting: deque[Proof] = deque()  # proofs that go on in a section of their own
        self.references: list[tuple[OutlineNode, Proof]] = []
        self.cut = False
        self.untried: deque[tuple[tuple[RuleAttempt, ...], list[OutlineNode], int]] = (
            deque()
        )  # where they go, and their level
        self.steps, self.attempts, self.hidden_attempts = steps, 0, 0

    # Proofs

    def proofs(self) -> list[Section]:
        proofs = self.explanation.proofs
        sections = []
        for i, proof in enumerate(proofs, 1):
            heading = f"proof {i} of {len(proofs)}: height {proof.height:,}, {counted(proof.steps, 'fact')}"
            sections.append(Section(heading if len(proofs) > 1 else "", [self.proof(proof, None)]))
        while self.waiting:
            sections.append(Section("continued", [self.expanded(self.waiting.popleft())], continued=True))
        for node, proof in self.references:
            node.see = self.places[id(proof)]
        return sections

    def proof(self, proof: Proof, above: Proof | None) -> OutlineNode:
        if self.expansion.is_here(proof, above) and id(proof) not in self.places:
            level = self.expansion.levels[id(proof)]
            if level == 0 or level % self.nesting:
                return self.expanded(proof)
            if proof not in self.waiting:
                self.waiting.append(proof)
        node = self.fact(proof)
        if id(proof) in self.expansion.levels:
            self.references.append((node, proof))
        elif proof.premises:
            self.cut = True
            node.note = f"{_kinds(proof)}; its proof is hidden: height {proof.height:,}, {counted(proof.steps, 'fact')}"
        return node

    def fact(self, proof: Proof) -> OutlineNode:
        label = visible(proof.fact.text(self.prefixes))
        return OutlineNode(proof.kind, label, _kinds(proof))

    def expanded(self, proof: Proof) -> OutlineNode:
        node = self.fact(proof)
        node.rule, node.bindings = proof.rule, bindings_text(proof.bindings, self.prefixes)
        self.places[id(proof)] = node
        node.children = [self.premise(premise, proof) for premise in proof.premises]
        return node

    def premise(self, premise: Premise, above: Proof | None) -> OutlineNode:
        match premise:
            case Proof():
                return self.proof(premise, above) if above is not None else self.satisfied(premise)
            case Absent(atom, reason):
                return OutlineNode("absent", f"NOT {visible(atom)}", visible(reason))
            case Condition(text, value):
                return OutlineNode("condition", visible(text), visible(value))
            case Group():
                return self.group(premise, above)

    def group(self, group: Group, above: Proof | None) -> OutlineNode:
        counts = group.function.upper() == "COUNT"
        members = [self.member(member, counts, above) for member in group.members]
        left = group.count - len(group.members)
        if left > 0:
            members.append(OutlineNode("more", f"… and {counted(left, 'more member')} of {group.count:,}"))
        key = ", ".join(value_text(value, self.prefixes) for value in group.key)
        of = f"group {key}: " if key else ""
        note = f"{of}{counted(group.count, 'member')}, {visible(group.arithmetic)}"
        return OutlineNode("group", visible(group.text), note, children=members)

    def member(self, member: Member, counts: bool, above: Proof | None) -> OutlineNode:
        """A member with its value, unless that is only counted; one with a single premise is the node of that."""
        premises = [self.premise(premise, above) for premise in member.premises]
        value = "" if counts or member.value is None else f"value {value_text(member.value, self.prefixes)}"
        if len(premises) == 1:
            only = premises[0]
            only.note = "; ".join(filter(None, [value, only.note]))
            return only
        return OutlineNode(
            "member", bindings_text(member.bindings, self.prefixes) or "member", value, children=premises
        )

    # Why not

    def refuted(self) -> list[Section]:
        found = self.explanation
        sections = [Section("near misses", self.near(found.near))] if found.near else []
        if found.attempts:
            sections.append(Section("rules that could derive it", self.tried(found.attempts, 1)))
        if found.reason:
            sections.append(Section("", [OutlineNode("more", visible(found.reason))]))
        while self.untried:
            self.fill(*self.untried.popleft())
        return sections

    def tried(self, attempts: tuple[RuleAttempt, ...], level: int) -> list[OutlineNode]:
        """The nodes of attempts, which `fill` adds when those nearer to the root have been shown."""
        nodes: list[OutlineNode] = []
        self.untried.append((attempts, nodes, level))
        return nodes

    def fill(self, attempts: tuple[RuleAttempt, ...], nodes: list[OutlineNode], level: int) -> None:
        room = max(self.steps - self.attempts, 0)
        nodes += (self.attempt(attempt, level) for attempt in attempts[:room])
        self.attempts += min(room, len(attempts))
        if left := len(attempts[room:]):
            self.hidden_attempts += left
            nodes.append(OutlineNode("more", f"… and {counted(left, 'more rule')}"))

    def near(self, near: Iterable[Near]) -> list[OutlineNode]:
        return [OutlineNode("near", f"{visible(one.kind)}: {visible(one.text)}") for one in near]

    def attempt(self, attempt: RuleAttempt, level: int) -> OutlineNode:
        needed = f"needed: {visible(attempt.needed)}" if attempt.needed else ""
        failed = OutlineNode("failed", visible(attempt.failed), needed)
        if attempt.nested and level >= MOST_NESTED:
            failed.children = [OutlineNode("more", "… the rest is hidden", f"explain {failed.label} for it")]
        elif len(attempt.nested) == 1 and attempt.nested[0].atom == attempt.failed:
            failed.children = self.refutation(attempt.nested[0], level + 1)
        else:
            failed.children = [
                OutlineNode("failed", visible(nested.atom), children=self.refutation(nested, level + 1))
                for nested in attempt.nested
            ]
        children = [self.premise(premise, None) for premise in attempt.satisfied]
        bindings = bindings_text(attempt.bindings, self.prefixes)
        return OutlineNode("attempt", "", rule=attempt.rule, bindings=bindings, children=[*children, failed])

    def refutation(self, refutation: Refutation, level: int) -> list[OutlineNode]:
        nodes = self.tried(refutation.attempts, level)
        nodes += self.near(refutation.near)
        if refutation.reason:
            nodes.append(OutlineNode("more", visible(refutation.reason)))
        return nodes

    def satisfied(self, proof: Proof) -> OutlineNode:
        """A premise that holds, in a line: its own explanation has the proof."""
        node = self.fact(proof)
        node.kind = "satisfied"
        if proof.rule is not None:
            node.note += f" by {proof.rule.id}, height {proof.height:,}"
        return node

    # Notes

    def notes(self) -> list[str]:
        found = self.expansion
        if self.hidden_attempts:
            hidden = counted(self.hidden_attempts, "attempt")
            return [f"{hidden} hidden, and what is nested in them; steps={2 * self.steps} (--steps) shows more"]
        if not self.cut:
            return []
        hidden = counted(found.total - found.shown, "fact")
        if self.depth is not inf and max(found.levels.values(), default=-1) + 1 >= self.depth:
            why = f"the proof is shown to depth {self.depth}"
        else:
            why = f"steps={found.total} (--steps {found.total}) shows all"
        return [f"{hidden} of {found.total:,} hidden; {why}"]


def _kinds(proof: Proof) -> str:
    """Whether a fact is explicit (and from where) or derived, or both."""
    also = "also derived" if proof.also_derived else "also explicit" if proof.also_explicit else ""
    return ", ".join(filter(None, [proof.kind, visible(proof.source or ""), also]))
