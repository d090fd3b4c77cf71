"""A peer: a library's process set-up, and how it builds and runs a derivative."""

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
    """A gradient and its primal, bound to their inputs; a call returns when the result is there.

    The gradient stands for whichever derivative the workload asks for; `arrays` turns one into
    NumPy arrays. `primal` is None where the library has none of
    its own.
    """

    gradient: Callable[[], Any]
    primal: Callable[[], Any] | None
    arrays: Callable[[Any], Arrays]


#: What makes a function from a namespace like NumPy's, and one of special functions.
Make = Callable[[Any, Any], Any]
Bound = Callable[[], Any]


@dataclass(frozen=True)
class Latency:
    """What the questions about latency need of a library that compiles functions.

    `gradient(f, x)` compiles the gradient of `f` (a function made by a workload's `primal`) and
    returns its value at `x`. `call(n)` compiles a function that doubles each of n small arrays
    (passed as n arguments up to two, else as one dictionary) and returns a bound, blocking call.
    `again(f, x)` and `compiled(f, x)` return bound, blocking calls of the gradient, differentiated
    at each call and compiled; `passes(f, x, differentiated)` is one that only makes the program to
    be compiled, of the function or its gradient.
    """

    gradient: Callable[[Make, np.ndarray], Any]
    call: Callable[[int], Bound] | None = None
    cached_environment: Callable[[str], dict[str, str]] | None = None
    again: Callable[[Make, np.ndarray], Bound] | None = None
    compiled: Callable[[Make, np.ndarray], Bound] | None = None
    passes: Callable[[Make, np.ndarray, bool], Bound] | None = None


@dataclass(frozen=True)
class Peer:
    """One library in a process of its own.

    `environment(threads, dtype)` is set before the process starts; `load` imports the library, and
    `load_special` its special functions, which count neither as import nor as compile time;
    `build(workload, inputs, threads)` may compile already or leave that to the first call.
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
        """The interpreter of its process: ours, or that of an environment of its own.

        PyTensor, for one, holds Numba back; `BENCH_PYTHON_PYTENSOR=path/to/python` lets it.
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
