"""Sampling of large tables of cases: a fraction runs by default, all with ``--every-case``.

``@pytest.mark.sampled(8)`` on a test with many cases says that one in eight is enough for a run of
minutes.  The mark bounds what a test costs in the default run: half a second where its cases differ
little, some seconds for the tables that everything rests on.  Which cases run is drawn by their
names, so it is the same everywhere; ``--sample SEED`` draws others.  Cases that are named on the
command line, by ``::`` or ``-k``, always run.  Random searches draw `share` of their examples.

LLVM's passes take a third of the time of a whole run.  The tests in the folders of `OPTIMISED`,
those marked ``optimised``, and one in four of the others compile with them; the rest compile as
with ``NUMBA_OPT=0``.  ``--every-case`` and tests that are named compile with all passes.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from math import ceil

import pytest

MARK = "sampled"
#: Where all tests compile with LLVM's passes.
OPTIMISED = ("tests/codegen/cpu/", "tests/codegen/vector_math/")
#: Of how many random examples the default run draws one, and of how many tests it compiles one with
#: LLVM's passes.
ONE_IN = 4
#: LLVM's level, as Numba's setting.
LEVEL = "NUMBA_OPT"

_every_case = False


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampling")
    group.addoption("--every-case", action="store_true", help="run each case of sampled tests")
    group.addoption("--sample", default="0", metavar="SEED", help="draw other cases")


def pytest_configure(config: pytest.Config) -> None:
    global _every_case
    _every_case = config.getoption("--every-case")


def share(count: int) -> int:
    """Return how many of the random examples a search draws: all of them with ``--every-case``."""
    return count if _every_case else ceil(count / ONE_IN)


def _is_sample(config: pytest.Config) -> bool:
    """Whether this is a run of samples, without names or ``--every-case``."""
    is_named = config.getoption("keyword") or any("::" in argument for argument in config.args)
    return not is_named and not config.getoption("--every-case")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if LEVEL in os.environ or not _is_sample(item.config) or is_optimised(item):
        return (yield)
    os.environ[LEVEL] = "0"
    try:
        return (yield)
    finally:
        del os.environ[LEVEL]


def is_optimised(item: pytest.Item) -> bool:
    """Whether the programs of a test are compiled with LLVM's passes in a run of samples."""
    drawn = zlib.crc32(f"{item.config.getoption('--sample')} {item.nodeid}".encode()) % ONE_IN == 0
    is_marked = item.get_closest_marker("optimised") is not None
    return drawn or is_marked or item.nodeid.startswith(OPTIMISED)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not _is_sample(config):
        return
    kept = set(
        chosen([(item.nodeid, _one_in(item)) for item in items], config.getoption("--sample"))
    )
    left = [item for item in items if item.nodeid not in kept]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.nodeid in kept]


def _one_in(item: pytest.Item) -> int:
    """Return n if one case in n is run."""
    mark = item.get_closest_marker(MARK)
    return 1 if mark is None else int(mark.args[0])


def chosen(cases: Sequence[tuple[str, int]], seed: str = "0") -> list[str]:
    """Return the cases that are run, at least one of each test.

    >>> chosen([("a[1]", 2), ("a[2]", 2), ("a[3]", 2), ("b", 1)])
    ['a[1]', 'a[2]', 'b']
    """
    tests: dict[str, list[tuple[int, str, int]]] = {}
    for name, one_in in cases:
        drawn = zlib.crc32(f"{seed} {name}".encode())
        tests.setdefault(name.partition("[")[0], []).append((drawn, name, one_in))
    kept = set()
    for found in tests.values():
        kept.update(name for _, name, _ in sorted(found)[: ceil(len(found) / found[0][2])])
    return [name for name, _ in cases if name in kept]
