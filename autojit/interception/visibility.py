"""The time for which names are replaced: while any thread traces.

The last trace to end restores them, however it ends. A module that is imported by a traced function
runs as it would outside: no trace is active in its code, and NumPy's and SciPy's names are their
own, unless another thread traces. So it keeps no stand-in and no traced array. The stand-ins for
modules of SciPy and pandas that it loads are in place in the rest of the trace.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType
from typing import Any

from autojit.ir.core.locks import Lock
from autojit.tracing.context import current_trace, outside_of_traces
from autojit.tracing.hooks import hooks

from . import numpy_polynomial, patches
from .name_patching import Names
from .numpy_polynomial import PolynomialNames
from .pandas_methods import PandasMethods
from .scipy_names import ScipyNames


class _Imports:
    """Finds modules for the imports of traced functions, with the help of the other finders."""

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def restore(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if current_trace() is None:
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    if spec.loader is not None:
                        spec.loader = _Outside(spec.loader)  # type: ignore[assignment]
                    return spec
        return None


class _Outside:
    """A loader whose module runs outside the trace that imports it, and keeps its own loader."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        with _paused():
            self._loader.exec_module(module)


_scipy, _pandas, _imports = ScipyNames(), PandasMethods(), _Imports()
_lock = Lock()
#: The number of open traces of each thread, by the thread's identity.
_open: dict[int, int] = {}
_installed: tuple[Any, ...] = ()


def _all_names() -> tuple[Names | PolynomialNames | PandasMethods | ScipyNames | _Imports, ...]:
    return (*patches.names(), numpy_polynomial.names(), _pandas, _scipy, _imports)


def _count(thread: int, more: int) -> int:
    """Count the traces of a thread, and return the count before; the names are replaced while there
    are any. The lock is held, so nothing is imported here: another thread may be importing, and
    wait for the lock."""
    global _installed
    before = _open.pop(thread, 0)
    if before + more:
        _open[thread] = before + more
    if _open and not _installed:
        _installed = _all_names()
        for names in _installed:
            names.install()
    elif _installed and not _open:
        for names in _installed:
            names.restore()
        _installed = ()
    return before


@contextmanager
def visible() -> Iterator[None]:
    """A context in which the names are replaced, in whatever thread it runs."""
    thread = get_ident()
    if not _installed:
        _prepare()
    with _lock.current:
        _count(thread, 1)
    try:
        yield
    finally:
        with _lock.current:
            _count(thread, -1)


def _prepare() -> None:
    """Import the modules that a trace needs."""
    _all_names()
    _scipy.prepare()


@contextmanager
def _paused() -> Iterator[None]:
    """A context in which this thread does not trace."""
    thread = get_ident()
    with outside_of_traces():
        with _lock.current:
            traces = _count(thread, -_open.get(thread, 0))
        try:
            yield
        finally:
            _prepare()
            with _lock.current:
                if _installed:  # since another thread traces
                    _scipy.install()
                    _pandas.install()
                _count(thread, traces)


hooks.visible = visible
