"""The peers: other engines that run our benchmarks, one file each; `base.py` says what a peer is."""

from benchmarks.peers.base import CannotExpress, Measured, Outcome, Peer, enough
from benchmarks.peers.clingo import Clingo
from benchmarks.peers.duckdb import DuckDB
from benchmarks.peers.egglog import Egglog
from benchmarks.peers.nemo import Nemo
from benchmarks.peers.owl import Owlrl, Reasonable
from benchmarks.peers.souffle import Souffle
from benchmarks.peers.vlog import VLog

PEERS: tuple[Peer, ...] = (Nemo(), Clingo(), Egglog(), DuckDB(), Souffle(), VLog(), Reasonable(), Owlrl())

__all__ = ["PEERS", "CannotExpress", "Measured", "Outcome", "Peer", "enough"]
