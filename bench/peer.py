"""A peer: the set-up of a library's process, and the functions that build and run a derivative."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from bench.workload import Arrays, Workload, as_tuple


@dataclass(frozen=True)
class Compiled:
    """A gradient and its primal, bound to their inputs; a call returns when its result is computed.

    "Gradient" stands for any derivative that a workload asks for; `arrays` converts one to NumPy
    arrays. `primal` is None if the library has none of its own.
    """

    gradient: Callable[[], Any]
    primal: Callable[[], Any] | None
    arrays: Callable[[Any], Arrays]


#: Makes a function from a namespace like NumPy's, and one of special functions.
Make = Callable[[Any, Any], Any]
Bound = Callable[[], Any]


@dataclass(frozen=True)
class Latency:
    """The functions of a library for the measurements of latency.

    `gradient(f, x)` compiles the gradient of `f` (made by a workload's `primal`) and returns its
    value at `x`. `call(n)` compiles a function that doubles each of n small arrays (passed as n
    arguments up to two, else as one dictionary) and returns a bound, blocking call. `again(f, x)`
    and `compiled(f, x)` return bound, blocking calls of the gradient: differentiated at each call,
    and compiled. `passes(f, x, differentiated)` returns a call that only makes the program to be
    compiled, for the function or its gradient.
    """

    gradient: Callable[[Make, np.ndarray], Any]
    call: Callable[[int], Bound] | None = None
    cached_environment: Callable[[str], dict[str, str]] | None = None
    again: Callable[[Make, np.ndarray], Bound] | None = None
    compiled: Callable[[Make, np.ndarray], Bound] | None = None
    passes: Callable[[Make, np.ndarray, bool], Bound] | None = None


@dataclass(frozen=True)
class Peer:
    """One library in a separate process.

    `environment(threads, dtype)` is set before the process starts. `load` imports the library, and
    `load_special` its special functions, whose import counts neither as import nor as compile time.
    `build(workload, inputs, threads)` may compile at once, or leave that to the first call.
    """

    name: str
    title: str
    package: str
    environment: Callable[[int, str], dict[str, str]]
    load: Callable[[], Any]
    build: Callable[[Workload, Arrays, int], Compiled]
    latency: Latency | None = None
    load_special: Callable[[], Any] | None = None

    @property
    def python(self) -> str:
        """The Python interpreter of the process: ours, or that of another environment.

        PyTensor, for example, requires an older Numba; `BENCH_PYTHON_PYTENSOR=path/to/python` names
        an environment that has it.
        """
        return os.environ.get(f"BENCH_PYTHON_{self.name.upper()}", sys.executable)

    def version(self) -> str:
        if self.python != sys.executable:
            ask = f"from importlib import metadata; print(metadata.version({self.package!r}))"
            done = subprocess.run([self.python, "-c", ask], capture_output=True, text=True)
            return done.stdout.strip() or "not installed"
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "not installed as a package"


def no_environment(threads: int, dtype: str) -> dict[str, str]:
    return {}


def numpy_arrays(result: Any) -> Arrays:
    return tuple(np.asarray(part) for part in as_tuple(result))
