"""`deltalog store`: verifies, repairs, compacts and exports stores, and lists their rules."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from deltalog.apps.cli.log import size_text
from deltalog.apps.cli.options import ERROR, add_limits, command_parser, count, is_inside, local, version, wrong_usage
from deltalog.formats.formats import OUTPUT_FORMATS

ACTIONS = """\
verify    read every file and check it (exit code 1 for damage); with --repair recover what is left, and say what was
          lost (exit code 1 if anything was)
compact   write a snapshot, which makes opening fast, and drop older snapshots with the log before the oldest kept one
export    write facts as plain tables, a folder for each predicate, which Spark, DuckDB and pandas read
rules     list the rules with their ids
"""
# The options that only some actions have.
OWN = {
    **dict.fromkeys(("repair", "json"), ("verify",)),
    **dict.fromkeys(("keep",), ("compact",)),
    **dict.fromkeys(("out", "format", "only", "derived"), ("export",)),
    "at": ("export", "rules"),
}


def parser() -> ArgumentParser:
    made = command_parser("store", f"Look after a store.\n\n{ACTIONS}")
    add = made.add_argument
    add("action", metavar="ACTION", choices=RUN, help=f"{', '.join(RUN)}: see above")
    add("store", metavar="STORE", type=local, help="the folder of a store")
    add("--repair", action="store_true", help="verify: recover what is left; what is replaced goes to `lost+found`")
    add("--json", action="store_true", help="verify: print the report as one JSON object")
    add("--keep", metavar="N", type=count, help="compact: keep this many snapshots, with the new one (default: 1)")
    out = "export: the folder to write to, which is new or empty (default: `tables` in the store, which is replaced)"
    add("--out", metavar="DIR", type=local, help=out)
    add("--format", choices=OUTPUT_FORMATS, help="export: the format (default: parquet)")
    add("--only", metavar="PRED", action="append", default=[], help="export: this predicate only; may be repeated")
    add("--derived", action="store_true", help="export: only facts that were not given")
    add("--at", metavar="VERSION", type=version, help="export, rules: of this version (default: the newest)")
    add_limits(made)
    return made


def run(options: Namespace) -> int:
    """Does what is asked for; the exit code."""
    for name, actions in OWN.items():
        if getattr(options, name) not in (None, False, []) and options.action not in actions:
            return wrong_usage("store", f"--{name} goes with {' and '.join(actions)}, not with {options.action}")
    return RUN[options.action](options)


def _verify(options: Namespace) -> int:
    import json

    from deltalog.extensions.store.verify import repair, verify

    report = (repair if options.repair else verify)(options.store)
    print(json.dumps(report.listed()) if options.json else report)
    return ERROR if report.has_losses or not (report.is_sound or report.repaired) else 0


def _compact(options: Namespace) -> int:
    from deltalog.apps.cli.open_store import catalog_of, open_store

    keep = 1 if options.keep is None else options.keep
    if keep < 1:
        return wrong_usage("store", "--keep 0 would drop the store; the least is 1")
    with open_store(options.store, options, readonly=False) as kb:
        before = _bytes(options.store)
        dropped, facts = kb.compact(keep), f"{kb.report.facts_total:,} facts ({kb.explicit_facts:,} explicit)"
    with catalog_of(options.store) as catalog:
        newest, oldest = catalog.snapshots()[0], catalog.snapshots()[-1].version
    print(f"snapshot of version {newest.version}: {facts}, {size_text(newest.bytes)}")
    print(f"dropped {_named(dropped.versions)}; from {oldest} on they can be opened")
    print(f"{size_text(before)} before, {size_text(_bytes(options.store))} now")
    return 0


def _named(versions: range) -> str:
    if not versions:
        return "no version"
    return f"version {versions[0]}" if len(versions) == 1 else f"versions {versions[0]} to {versions[-1]}"


def _bytes(folder: Path) -> int:
    """What the files of a store take on disk."""
    found = (path.lstat() for path in folder.rglob("*"))
    return sum(getattr(stat, "st_blocks", -(-stat.st_size // 512)) * 512 for stat in found)


def _export(options: Namespace) -> int:
    from deltalog.apps.cli.open_store import open_store
    from deltalog.extensions.store.export import export, export_inside
    from deltalog.formats.write import check_output

    out, what = options.out, {"only": options.only, "derived": options.derived}
    if out is not None and is_inside(out, options.store):
        return wrong_usage("store", f"{out} is inside of the store; choose another folder, or leave --out out")
    if out is not None:
        check_output(out)
    with open_store(options.store, options, readonly=True, version=options.at) as kb:
        if out is None:
            out = export_inside(kb, options.store, options.format or "parquet", **what)
        else:
            export(kb, out, options.format or "parquet", **what)
        print(f"wrote version {kb.version} to {out}")
    return 0


def _rules(options: Namespace) -> int:
    from deltalog.apps.cli.open_store import open_store

    with open_store(options.store, options, readonly=True, version=options.at) as kb:
        for name, rule in kb.rule_ids.items():
            print(f"{name}\t{rule}")
    return 0


RUN = {"verify": _verify, "compact": _compact, "export": _export, "rules": _rules}
