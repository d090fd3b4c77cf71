"""The peers, one file each with a `PEER`, in the order of the tables' columns."""

from __future__ import annotations

from importlib import import_module

from bench.peer import Peer

NAMES = (
    "autojit",
    "jax",
    "torch",
    "torch_compile",
    "autograd",
    "pytensor",
    "dace",
    "numba",
    "numpy",
)


def load(name: str) -> Peer:
    """A peer by its name, or by the dotted path of another module."""
    if "." not in name and name not in NAMES:
        raise SystemExit(f"no peer {name!r}; there are: {', '.join(NAMES)}")
    peer = import_module(name if "." in name else f"bench.peers.{name}").PEER
    if not isinstance(peer, Peer):
        raise SystemExit(f"{name}.PEER is no bench.peer.Peer")
    return peer
