"""Every module imports, and every example in a docstring gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import numpy as np
import pytest

import autojit


def reraise(name: str) -> None:
    """Re-raise the import error being handled, which `walk_packages` would ignore."""
    raise


def modules() -> list[str]:
    """All modules of the package, by the names that users import them by."""
    found = pkgutil.walk_packages(autojit.__path__, "autojit.", onerror=reraise)
    return ["autojit", *(info.name for info in found if not info.name.endswith(".__main__"))]


def run_examples(module: ModuleType) -> tuple[int, str]:
    """Return the number of examples run, and a report of the failures."""
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    # `np` and `autojit` need no import in an example; other names do.
    names = {**vars(module), "np": np, "autojit": autojit}
    for test in doctest.DocTestFinder().find(module, module.__name__, globs=names):
        runner.run(test, out=report.append)
    return runner.tries, "".join(report)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    _, report = run_examples(importlib.import_module(name))
    assert not report, report


@pytest.mark.parametrize("package", ["autojit", "autojit.ir", "autojit.codegen"])
def test_modules_of_each_folder_are_found(package: str) -> None:
    assert package in modules()


def test_a_wrong_example_is_reported() -> None:
    module = ModuleType("wrong", ">>> 1 + 1\n3\n\n>>> np.ones(2).sum() == 2\nnp.True_\n")
    tried, report = run_examples(module)
    assert tried == 2
    assert "Expected:\n    3\nGot:\n    2" in report
