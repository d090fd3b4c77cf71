"""The key by which another process finds compiled code on disk: everything the code depends on.

The program contributes its structure. The arrays that it captured are inputs; neither they nor the
user's files nor the names of functions matter, so a lambda in a notebook has the same key as a
function in a module. The rest of the key is the machine and everything that takes part in the
translation.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import autojit.ir
from autojit.codegen.cpu.abi.abi import Convention
from autojit.codegen.cpu.host.engine import settings
from autojit.codegen.loop_ir.machine import current
from autojit.ir.core.loaded import LOADED
from autojit.ir.core.program import Program


def key(program: Program, convention: Convention, version: str) -> dict[str, Any] | None:
    """Return the key of a program's entry; None if our sources changed since they were loaded."""
    ours = sources()
    if ours is None:
        return None
    return {
        "program": hashlib.sha256(repr(program.key).encode()).hexdigest(),
        "convention": describe(convention),
        "autojit": version,
        "sources": ours,
        **machine(),
        "model": current().facts(),
        "settings": settings(),
    }


def describe(convention: Convention) -> str:
    """Describe a calling convention.

    >>> describe(Convention((None, float), 1, as_tuple=False))
    '(array, float) and 1 bound, bare'
    """
    taken = ", ".join("array" if weak is None else weak.__name__ for weak in convention.weak)
    result = "tuple" if convention.as_tuple else "bare"
    words = f"({taken}) and {convention.bound} bound, {result}"
    if any(convention.orders) or any(convention.made):
        words += f", axes in the orders {convention.orders} -> {convention.made}"
    return words


@cache
def machine() -> dict[str, str]:
    """Return the processor, and the versions of the libraries."""
    import llvmlite
    import llvmlite.binding as llvm

    abi = np._core._multiarray_umath._get_ndarray_c_version()  # type: ignore[attr-defined]
    return {
        "target": llvm.get_process_triple(),
        "processor": llvm.get_host_cpu_name(),
        "features": llvm.get_host_cpu_features().flatten(),
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "numpy": f"ABI {abi:x}",
        "llvmlite": f"{llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}",
        "numba": _numba_version(),
    }


@cache
def sources() -> str | None:
    """Return a hash of our own sources, so that changed sources find no code of older ones.

    Return None if they have changed since they were loaded.
    """
    summed = hashlib.sha256()
    for name, path in _source_files():
        with open(path, "rb") as file:
            content = file.read()
        summed.update(f"{name} {len(content)}\n".encode() + content)
    return summed.hexdigest() if unchanged() else None


def unchanged() -> bool:
    """Whether the sources on disk are the ones that this process has loaded or will load."""
    return all(os.stat(path).st_mtime <= LOADED for _, path in _source_files())


def _source_files() -> Iterator[tuple[str, str]]:
    """Yield the name in its package and the path of each file that affects code for the CPU."""
    for package in (Path(__file__).parents[2], Path(autojit.ir.__file__).parent):
        root = os.path.realpath(package)
        for parent, folders, files in os.walk(root):
            folders[:] = sorted(set(folders) - {"__pycache__", "cuda"})
            for name in sorted(files):
                if name.endswith(".py"):
                    path = os.path.join(parent, name)
                    yield path[len(root) + 1 :], path


def _numba_version() -> str:
    """Read Numba's version; importing Numba takes longer than loading compiled code."""
    spec = find_spec("numba")
    found = None
    if spec and spec.origin:
        with contextlib.suppress(OSError):
            text = Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")
            found = re.search(r'"version": *"([^"]+)"', text)
    if found:
        return found[1]
    from importlib.metadata import version

    return version("numba")
