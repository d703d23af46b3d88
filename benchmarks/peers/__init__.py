"""The peers: other engines that run our benchmarks, one file each; `base.py` says what a peer is."""

from benchmarks.peers.base import CannotExpress, Outcome, Peer
from benchmarks.peers.clingo import Clingo
from benchmarks.peers.duckdb import DuckDB
from benchmarks.peers.egglog import Egglog
from benchmarks.peers.nemo import Nemo

PEERS: tuple[Peer, ...] = (Nemo(), Clingo(), Egglog(), DuckDB())

__all__ = ["PEERS", "CannotExpress", "Outcome", "Peer"]
