"""Knowledge bases that last: a folder with a catalog, a log of changes, and snapshots (docs/store.md)."""
