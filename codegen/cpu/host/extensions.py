"""Single extension modules of SciPy and Numba, without the packages that they lie in.

Compiled code calls a few functions of theirs, whose addresses two extension modules know.  The
packages around those import a hundred others first: ``scipy.linalg`` takes 60 ms for what takes 5,
``numba`` 100 ms for what takes 1.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib import _bootstrap
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

#: The lock that the import statement takes; where there is none of that name, modules are imported.
_Lock = getattr(_bootstrap, "_ModuleLockManager", None)


def extension(name: str) -> Any:
    """An extension module; imported as usual where its package is imported already."""
    package, file = name.rpartition(".")[0], _file(name)
    if {name, package} & sys.modules.keys() or file is None or _Lock is None:
        return importlib.import_module(name)
    with _Lock(name):
        if name in sys.modules:
            return sys.modules[name]
        return _loaded(name, file)


def _loaded(name: str, file: Path) -> Any:
    """The module, which an import of its name later finds in its package, as if it were new."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop(name, None)
    return module


def _file(name: str) -> Path | None:
    """The file of an extension module, if it lies where the name says."""
    top, *inner = name.split(".")
    spec = importlib.util.find_spec(top)
    for folder in (spec and spec.submodule_search_locations) or ():
        for suffix in EXTENSION_SUFFIXES:
            file = Path(folder, *inner).with_name(inner[-1] + suffix)
            if file.is_file():
                return file
    return None
