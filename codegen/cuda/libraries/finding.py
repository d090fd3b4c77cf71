"""NVIDIA's libraries are searched in wheels from PyPI, a CUDA toolkit, and the system."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.locks import Lock

from .prototypes import PROTOTYPES, c_types

#: The releases of each library that have all functions: that of CUDA 13, then of CUDA 12.
_RELEASES = {
    "cublasLt": (13, 12),
    "cublas": (13, 12),
    "cusolver": (12, 11),
    "cufft": (12, 11),
}
#: The file of each library that is a part of another one.
_FILES = {"cusolverEig": "cusolver"}  # fmt: skip
#: The wheel of each library, without the suffix for CUDA's release.
_WHEELS = {
    "cublasLt": "nvidia-cublas", "cublas": "nvidia-cublas", "cusolver": "nvidia-cusolver",
    "cufft": "nvidia-cufft",
}  # fmt: skip


def installing(library: str) -> str:
    """The command that installs a library."""
    return f"pip install {_WHEELS[_FILES.get(library, library)]}"


def _names(library: str) -> list[str]:
    library = _FILES.get(library, library)
    if os.name == "nt":
        return [f"{library}64_{release}.dll" for release in _RELEASES[library]]
    return [f"lib{library}.so.{release}" for release in _RELEASES[library]]


def _folders() -> Iterator[Path]:
    """Yield folders of wheels, then of toolkits."""
    for entry in sys.path:
        wheels = Path(entry or ".") / "nvidia"
        if wheels.is_dir():
            for kind in ("*/lib", "*/bin", "*/bin/x86_64"):
                yield from sorted(wheels.glob(kind), reverse=True)
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        root = os.environ.get(variable)
        if root:
            yield from (Path(root) / part for part in ("lib64", "lib", "bin", "Library/bin"))
    yield Path("/usr/local/cuda/lib64")


def _places(library: str) -> Iterator[str]:
    """Yield paths that exist, then names for the system to look up."""
    names = _names(library)
    for folder in _folders():
        for name in names:
            if (folder / name).is_file():
                yield str(folder / name)
    yield from names


def _load(library: str) -> dict[str, Any] | None:
    for place in _places(library):
        try:
            loaded = ctypes.CDLL(place)
            functions = {name: getattr(loaded, name) for name in PROTOTYPES[library]}
        except (OSError, AttributeError):  # not there, or a release without a function
            continue
        for name, function in functions.items():
            function.argtypes, function.restype = c_types(library, name), ctypes.c_int
        return functions
    return None


class Libraries:
    """The libraries of this machine, each loaded at its first use."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: dict[str, Mapping[str, Any] | None] = {}

    def found(self, library: str) -> Mapping[str, Any] | None:
        """The functions of a library by name, or None if it is not installed."""
        with self._lock:
            if library not in self._loaded:
                self._loaded[library] = _load(library)
            return self._loaded[library]

    def __getitem__(self, library: str) -> Mapping[str, Any]:
        functions = self.found(library)
        if functions is None:
            raise TargetError(
                f"a program calls lib{library}, which is not installed: {installing(library)}"
            )
        return functions

    def __contains__(self, library: object) -> bool:
        """Whether a library is installed; this loads it."""
        return isinstance(library, str) and self.found(library) is not None


class _Machine:
    """The libraries in use."""

    def __init__(self) -> None:
        self.libraries = Libraries()


_machine = _Machine()


def libraries() -> Libraries:
    """The libraries of this machine."""
    return _machine.libraries


@contextmanager
def served_by(others: Any) -> Iterator[None]:
    """Replace the libraries inside of the block, for tests."""
    before, _machine.libraries = _machine.libraries, others
    try:
        yield
    finally:
        _machine.libraries = before
