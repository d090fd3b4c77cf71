"""How many of SciPy's functions the tables differentiate, by SciPy's own names, which the README
says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from autojit.cli.coverage.catalogue import NAMESPACES, functions
from autojit.scipy.stats.families.family import FAMILIES
from tests.autojit.scipy.families import CONTINUOUS, DISCRETE
from tests.samples.special import differentiable
from tests.samples.special_points import POINTS

ROOT = Path(__file__).parents[3]
#: Each row or case of these is compared with SciPy, and its derivatives with differences.
TABLES = [
    *sorted((ROOT / "tests" / "samples").glob("scipy_*.py")),
    *(ROOT / "tests" / "autojit" / "scipy" / f"test_{name}.py"
      for name in ("statistics", "multivariate")),
]  # fmt: skip


def named(path: Path) -> set[str]:
    """The names of SciPy's in a module, in full."""
    tree, modules = ast.parse(path.read_text(encoding="utf-8")), {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            inside = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in node.names:
                modules[name.asname or name.name] = inside + name.name
    modules |= {"SPLINES": "scipy.interpolate"}
    return {
        f"{modules[node.value.id]}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    }


def differentiated() -> set[str]:
    """The public functions and distributions of SciPy that are."""
    found = set().union(*map(named, TABLES))
    found |= {f"scipy.special.{name}" for name in POINTS if differentiable(name)}
    found |= {f"scipy.stats.{name}" for name in (*CONTINUOUS, *DISCRETE)}
    covered = {f.full_name for n in NAMESPACES if n.startswith("scipy")
               for f in functions(n) if f.state == "covered"}  # fmt: skip
    return found & covered


def test_the_readme_says_how_many() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    claimed = re.search(r"The tests differentiate more than (\d+) of SciPy's functions", readme)
    assert claimed is not None
    assert len(differentiated()) > int(claimed[1])
    assert f"quantiles of {len(FAMILIES)} families" in readme


def test_every_family_has_a_row() -> None:
    assert {*CONTINUOUS, *DISCRETE} == set(FAMILIES)
