"""Numba's threading layer: started when a program first needs it, and not before.

OpenMP and TBB may be entered by several Python threads at once.  The workqueue
layer aborts the process then, so with it programs run on one thread.  A child
made by ``fork`` runs on one thread too: OpenMP does not survive a fork.
"""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

from autojit.ir.locks import Lock


class Layer(NamedTuple):
    """The layer's name, and the addresses of its functions (0 where it is not used)."""

    name: str
    parallel_for: int
    get_num_threads: int


#: 1 while threads may be used; native code reads it at every call.
allowed = ctypes.c_int64(0)
_lock = Lock()
_layer: Layer | None = None


def layer() -> Layer:
    """Start the threading layer, once."""
    global _layer
    with _lock:
        if _layer is None:
            _layer = _start()
            if _layer.parallel_for:
                allowed.value = 1
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=_forbid)
        return _layer


def _forbid() -> None:
    allowed.value = 0


def _start() -> Layer:
    import importlib

    from numba.np.ufunc import parallel

    if parallel.get_thread_count() < 2:
        return Layer("none", 0, 0)
    parallel._launch_threads()
    name = parallel.threading_layer()
    modules = {"omp": "omppool", "tbb": "tbbpool"}
    if name not in modules:
        return Layer(name, 0, 0)
    library = importlib.import_module(f"numba.np.ufunc.{modules[name]}")
    return Layer(name, library.parallel_for, library.get_num_threads)
