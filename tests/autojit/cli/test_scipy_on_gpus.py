"""What the page of coverage says of SciPy's functions on a GPU: their sample calls are printed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.stats

from autojit.cli.coverage import gpus
from autojit.cli.coverage.catalogue import NAMESPACES, functions
from autojit.cli.coverage.evidence import ARGUMENTS
from tests.autojit.cli.test_coverage import compiles_for_a_gpu
from tests.autojit.scipy.families import CONTINUOUS, DISCRETE
from tests.autojit.scipy.test_functions import ROWS
from tests.autojit.scipy.test_statistics import CASES
from tests.samples.scipy_gpus import CALLS

Sample = tuple[Callable[..., Any], tuple[Any, ...]]

#: Rows with an argument that must be known when a function is traced.
KNOWN = {"insert into an object"}


def call(namespace: str, text: str) -> tuple[str, Sample]:
    """Return the name of the called function, and the call as a sample."""
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = [name for name in ARGUMENTS if name in used]
    space = {"np": np, "scipy": scipy}
    function = eval(f"lambda {', '.join(names)}: {namespace}.{text}", space)
    return text.partition("(")[0].partition(".")[0], (function, tuple(map(ARGUMENTS.get, names)))


def family(name: str) -> Sample:
    """Return a sample of ``logpdf``; of ``pmf`` or ``cdf`` for families without its formula."""
    row = {**CONTINUOUS, **DISCRETE}[name]
    of = getattr(scipy.stats, name)
    density = "pmf" if name in DISCRETE else "cdf" if name in ("nct", "ncf", "ksone") else "logpdf"
    held = {i: shape for i, shape in enumerate(row.shapes) if i in row.plain}

    def density_at(x: Any, *shapes: Any) -> Any:
        rest = iter(shapes)
        given = [held[i] if i in held else next(rest) for i in range(len(row.shapes))]
        return getattr(of, density)(x, *given)

    shapes = [shape for i, shape in enumerate(row.shapes) if i not in held]
    return density_at, (np.array(row.points), *shapes)


def samples() -> dict[str, list[Sample]]:
    """Sample calls of each covered function, by its full name."""
    found: dict[str, list[Sample]] = {}
    rows = [(r.name, (r.function, r.arguments)) for r in ROWS if r.name not in KNOWN]
    rows += list(CASES.items())
    for namespace in NAMESPACES:
        if not namespace.startswith("scipy."):
            continue
        named = [call(namespace, text) for text in CALLS.get(namespace, "").split()]
        if namespace == "scipy.stats":
            named += [(name, family(name)) for name in (*CONTINUOUS, *DISCRETE)]
        own = {name for name, _ in named}
        named += [(name.split()[0], s) for name, s in rows if name.split()[0] not in own]
        for row in functions(namespace):
            if row.state == "covered":
                found[row.full_name] = [sample for name, sample in named if name == row.name]
    return found


SAMPLES = samples()


def test_each_covered_function_has_a_sample() -> None:
    without = [name for name, calls in SAMPLES.items() if not calls]
    assert [name for name in without if not name.startswith("scipy.special.")] == []


@pytest.mark.sampled(24)
@pytest.mark.parametrize("part", range(24))
def test_what_the_page_says(part: int) -> None:
    groups = [functions(namespace) for namespace in NAMESPACES if namespace.startswith("scipy.")]
    claims = {f"{g[0].namespace}.{name}" for g in groups for name in gpus.compiling(g)}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        some = [item for item in SAMPLES.items() if item[1]][part::24]
        compile = {name for name, calls in some if all(compiles_for_a_gpu(*c) for c in calls)}
    assert compile == claims & dict(some).keys()
