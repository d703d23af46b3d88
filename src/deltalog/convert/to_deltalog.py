"""Our own language: everything can be said."""

from __future__ import annotations

from deltalog.convert import writer
from deltalog.model.errors import Diagnostic
from deltalog.program.load_program import Documents
from deltalog.syntax.ast import Rule


class DeltalogWriter(writer.Writer):
    def __init__(self, document: Documents) -> None:
        super().__init__(document)
        self.rules = writer.without_hidden(document.rules)
        hint = "Give the files with --data, or load them."
        for use in (use for program in document.nemo for use in (*program.imports, *program.exports)):
            self.lost.append(Diagnostic(f"@{use.kind} has no counterpart: programs name no files", use.span, hint))

    def statement(self, rule: Rule) -> str:
        return str(rule)
