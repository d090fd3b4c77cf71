"""Import single extension modules of SciPy and Numba without the packages that contain them.

Compiled code calls a few of their functions, whose addresses two extension modules know. The
packages import a hundred other modules first: ``scipy.linalg`` takes 60 ms instead of 5, ``numba``
100 ms instead of 1.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib import _bootstrap
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

#: The lock that the import statement takes; if Python has none of that name, modules are imported.
_Lock = getattr(_bootstrap, "_ModuleLockManager", None)


def extension(name: str) -> Any:
    """Return an extension module; imported as usual if its package is already imported."""
    package, file = name.rpartition(".")[0], _file(name)
    if {name, package} & sys.modules.keys() or file is None or _Lock is None:
        return importlib.import_module(name)
    with _Lock(name):
        if name in sys.modules:
            return sys.modules[name]
        return _loaded(name, file)


def _loaded(name: str, file: Path) -> Any:
    """Return the module. A later import of its name finds it in its package, as if it were new."""
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
    """Return the file of an extension module, if it is where the name says."""
    top, *inner = name.split(".")
    spec = importlib.util.find_spec(top)
    for folder in (spec and spec.submodule_search_locations) or ():
        for suffix in EXTENSION_SUFFIXES:
            file = Path(folder, *inner).with_name(inner[-1] + suffix)
            if file.is_file():
                return file
    return None
