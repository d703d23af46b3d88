"""Our own language: everything can be said."""

from __future__ import annotations

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Rule
from deltalog.languages.convert import named_files, writer
from deltalog.languages.load_program import Documents


class DeltalogWriter(writer.Writer):
    def __init__(self, document: Documents) -> None:
        super().__init__(document)
        self.rules = writer.without_hidden(document.rules)
        hint = "Name them by @input, with types of columns, or by @output."
        for use in (use for program in document.nemo for use in (*program.imports, *program.exports)):
            self.lost.append(Diagnostic(f"@{use.kind} reads and writes other cells", use.span, hint))

    def before(self) -> list[str]:
        declared = named_files.columns(self.document.columns)
        return [*(named_files.deltalog(file) for file in self.document.files if file.kind == "input"), *declared]

    def after(self) -> list[str]:
        return [named_files.deltalog(file) for file in self.document.files if file.kind == "output"]

    def statement(self, rule: Rule) -> str:
        return str(rule)
