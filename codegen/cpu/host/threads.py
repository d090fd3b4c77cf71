"""Numba's threading layer, which starts when a program first needs it.

Several Python threads may enter OpenMP and TBB at once. The workqueue layer aborts the process in
that case, so with it programs run on one thread. A child made by ``fork`` runs on one thread too:
OpenMP does not survive a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

from autojit.codegen.cpu.host.extensions import extension
from autojit.codegen.loop_ir.machine import current
from autojit.ir.core.locks import Lock


class Layer(NamedTuple):
    """The layer's name, and the addresses of its functions (0 if it is not used)."""

    name: str
    parallel_for: int
    get_num_threads: int


#: How often a thread polls for work before it sleeps; this takes some microseconds.
SPINS = "3000"

#: 1 while threads may be used; native code reads it at every call.
allowed = ctypes.c_int64(0)
_lock = Lock()
_layer: Layer | None = None


def layer() -> Layer:
    """Start the threading layer if it is not running, and return it."""
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
    with _short_spinning():
        return _alone() if _is_undecided() else _by_numba()


@contextlib.contextmanager
def _short_spinning() -> Iterator[None]:
    """Let GNU's OpenMP release the processor soon; it reads this variable once, when it is loaded.

    By default its threads wait by spinning for milliseconds, on a processor that the threads of the
    BLAS need.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)


def _by_numba() -> Layer:
    """Return the layer that Numba chooses."""
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


# -- without importing Numba ---------------------------------------------------


def _is_undecided() -> bool:
    """Whether Numba, which is not imported, would take OpenMP because nothing says otherwise."""
    told = ("NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY")
    return not (
        "numba" in sys.modules
        or any(name in os.environ for name in told)
        or os.path.exists(".numba_config.yaml")
        or _has_tbb()
    )


def _has_tbb() -> bool:
    """Whether TBB, which Numba asks for first, is installed."""
    names = {"win32": "tbb12.dll", "darwin": "libtbb.12.dylib"}
    try:
        ctypes.CDLL(names.get(sys.platform, "libtbb.so.12"))
    except OSError:
        return False
    return True


def _alone() -> Layer:
    """Start Numba's OpenMP layer without Numba, in the same way; Numba finds it running later."""
    count = thread_count()
    if count < 2:
        return Layer("none", 0, 0)
    try:
        library = extension("numba.np.ufunc.omppool")
    except ImportError:
        return _by_numba()
    start = ctypes.CFUNCTYPE(None, ctypes.c_int)
    for function in (library.launch_threads, library.set_num_threads):
        start(function)(count)
    return Layer("omp", library.parallel_for, library.get_num_threads)


def thread_count() -> int:
    """Return the number of threads that Numba would take."""
    told = os.environ.get("NUMBA_NUM_THREADS", "")
    if told.strip().isdigit():
        return int(told)
    return current().processors
