"""NPBench's kernels as functions of their arguments that return all their results."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

#: NPBench's versions for Numba in native mode: sequential, with parallel arrays, and with parallel
#: loops.  The fastest is used for the comparison.
NUMBA_VERSIONS = ("n", "np", "npr")

Function = Callable[..., list[Any]]


@dataclass(frozen=True)
class Kernel:
    """A kernel: its description in JSON, and the folder of its sources."""

    name: str
    folder: Path
    description: dict[str, Any]

    @property
    def inputs(self) -> list[str]:
        return list(self.description["input_args"])

    def data(self, preset: str) -> list[Any]:
        """The arguments for a preset, made by NPBench's own function."""
        found = dict(self.description["parameters"][preset])
        init = self.description.get("init")
        if init:
            initialize = getattr(self._module(self._stem), init["func_name"])
            made = initialize(*(found[name] for name in init["input_args"]))
            names = init["output_args"]
            found.update(zip(names, made if len(names) > 1 else [made], strict=True))
        return [found[name] for name in self.inputs]

    def plain(self, version: str) -> Callable[..., Any]:
        """The kernel as NPBench has it for a library."""
        module = self._module(f"{self._stem}_{version}")
        found: Callable[..., Any] = getattr(module, self.description["func_name"])
        return found

    def written(self, arguments: list[Any]) -> list[int]:
        """The places of the arrays that the NumPy kernel changes, or that the description says it
        writes to, and does not return.

        Some descriptions name other arrays, or none; and some kernels change nothing at some sizes.
        """
        copies = [a.copy() if is_array(a) else a for a in arguments]
        returned = as_list(self.plain("numpy")(*copies))
        return [
            k
            for k, (a, b) in enumerate(zip(arguments, copies, strict=True))
            if is_array(a)
            and not any(b is r for r in returned)
            and (
                self.inputs[k] in self.description["output_args"]
                or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
            )
        ]

    def function(self, version: str, written: list[int]) -> Function:
        """The kernel as a function that copies its arguments, and returns the kernel's results and
        the arguments that it has written to."""
        kernel = self.plain(version)

        def run(*arguments: Any) -> list[Any]:
            copies = [a.copy() if is_array(a) else a for a in arguments]
            return as_list(kernel(*copies)) + [copies[k] for k in written]

        return run

    def versions_for_numba(self) -> list[str]:
        found = [f"numba_{version}" for version in NUMBA_VERSIONS]
        return [v for v in found if (self.folder / f"{self._stem}_{v}.py").exists()]

    @property
    def _stem(self) -> str:
        return str(self.description["module_name"])

    def _module(self, stem: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(stem, self.folder / f"{stem}.py")
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module


def as_list(returned: Any) -> list[Any]:
    """What a kernel returns, without None."""
    results = list(returned) if isinstance(returned, tuple) else [returned]
    return [r for r in results if r is not None]


def is_array(x: Any) -> bool:
    """Whether an argument is an array, to which the kernel may write."""
    return getattr(x, "ndim", 0) > 0


def kernels(checkout: Path, names: list[str]) -> list[Kernel]:
    """The named kernels of a checkout, or all if no names are given."""
    found = {}
    for path in sorted((checkout / "bench_info").glob("*.json")):
        description = json.loads(path.read_text(encoding="utf-8"))["benchmark"]
        folder = checkout / "npbench" / "benchmarks" / description["relative_path"]
        found[path.stem] = Kernel(path.stem, folder, description)
    unknown = sorted(set(names) - set(found))
    if unknown:
        raise SystemExit(f"no such kernel: {', '.join(unknown)}; there are: {', '.join(found)}")
    return [found[name] for name in names or found]
