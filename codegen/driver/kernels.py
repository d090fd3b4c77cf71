"""Kernels for GPUs are cached on disk, beside the code for the CPU.

The key of a kernel is its text, the capability of the card and the versions of the translators, so
programs of any kind share their common kernels.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from autojit.codegen.cuda import translation
from autojit.codegen.cuda.driver import assembly, compiler, nvvm
from autojit.codegen.cuda.driver.compiler import Kernel

from .cache import Cache

#: The packages that take part in the translation, if they are installed.
_TRANSLATORS = (
    "cuda-bindings",
    "nvidia-nvvm",
    "nvidia-cuda-nvcc",
    "nvidia-nvjitlink",
)


class KernelCache(NamedTuple):
    """The cache in which a driver loads and stores kernels."""

    entries: Cache

    def load(self, kernel: Kernel, capability: tuple[int, int], form: str) -> bytes | None:
        entry = self.entries.load(_key(kernel, capability, form))
        return None if entry is None else entry.code

    def store(self, kernel: Kernel, capability: tuple[int, int], form: str, code: bytes) -> None:
        types = ", ".join(f"{b.dtype}[{'' if b.by_value else b.size}]" for b in kernel.buffers)
        about = {"name": f"kernel for sm_{capability[0]}{capability[1]}", "types": types}
        self.entries.store(_key(kernel, capability, form), about, code)


def _key(kernel: Kernel, capability: tuple[int, int], form: str) -> dict[str, Any]:
    return {"kernel": kernel.key, "capability": list(capability), "form": form, **_translation()}


@cache
def _translation() -> dict[str, str]:
    """Return the versions of the translators, and a hash of our own part."""
    found = {}
    for name in _TRANSLATORS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    modules = [Path(str(each.__file__)) for each in (compiler, assembly, nvvm)]
    modules += sorted(Path(str(translation.__file__)).parent.glob("*.py"))
    own = b"".join(path.read_bytes() for path in modules)
    return {**found, "compiler": hashlib.sha256(own).hexdigest()}
