"""The tests, and the processes that they start, keep compiled code in a folder of their own."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import pytest

FOLDER = tempfile.mkdtemp(prefix="autojit-tests-")  # private to the user
os.environ["AUTOJIT_CACHE_DIR"] = FOLDER
os.environ.pop("AUTOJIT_CACHE_SIZE", None)
# A process that may not write bytecode compiles 300 modules at its start, which takes longer than
# most tests. All processes that the tests start share one folder of bytecode.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", os.path.join(FOLDER, "bytecode"))
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]
# One program in eight, always the same ones, is compared with the interpreter when it is compiled.
os.environ.setdefault("AUTOJIT_VERIFY", "points/8")
os.environ.setdefault("AUTOJIT_VERIFY_DIR", os.path.join(tempfile.gettempdir(), "autojit-faults"))

from autojit.codegen.cpu.host import engine  # noqa: E402 - after the folder is set
from autojit.ir.core.machine import Machine, using  # noqa: E402
from autojit.ir.pass_manager import passes  # noqa: E402
from autojit.session import transform_cache  # noqa: E402
from autojit.staging import execute  # noqa: E402
from autojit.tracing.hooks import hooks  # noqa: E402
from tests.machines import with_avx512  # noqa: E402
from tests.sampling import (  # noqa: E402, F401 - hooks
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_protocol,
)

engine.VERIFY = True
passes.always_verify()


@pytest.fixture(autouse=True, scope="module")
def small_caches() -> Iterator[None]:
    """Programs and code of a module are let go: what looks at all objects (the collector, searches
    for kept values) would take seconds among those of all modules."""
    yield
    transform_cache.clear()
    execute.clear()


@pytest.fixture
def young_objects() -> Iterator[None]:
    """Let the garbage collector ignore the millions of objects of earlier tests, so that a search
    for the holder of a leaked value takes no seconds."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def one_machine() -> Iterator[Machine]:
    """Set the same machine everywhere, for tests that expect texts."""
    with using(with_avx512()) as machine:
        yield machine


@pytest.fixture
def uncaptured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control flow is not captured, as in functions whose source is not available."""
    hooks.load()  # later registrations would undo it
    monkeypatch.setattr(hooks, "converted", lambda f: f)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
