"""Imports run one way: autojit -> codegen -> ir, and downwards through the layers of each.

A module imports its neighbours in the same folder by relative names (`from .types import Type`),
and all others by full ones (`from autojit.ir.core.types import Type`). Each top folder has a list
of the packages that it may use, and of those that it may import only inside a function.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Layer:
    """What the modules of one folder may import, the standard library aside."""

    package: str
    below: tuple[str, ...] = ()
    eager: frozenset[str] = frozenset()
    lazy: frozenset[str] = frozenset()


def declared_dependencies() -> frozenset[str]:
    """The names in pyproject.toml's `dependencies`, which are also their import names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return frozenset(
        requirement.split(";")[0].split("[")[0].rstrip("<>=!~., 0123456789").strip()
        for requirement in project["dependencies"]
    )


LAYERS = {
    "ir": Layer("autojit.ir", eager=frozenset({"numpy"}), lazy=frozenset({"networkx", "scipy"})),
    "codegen": Layer(
        "autojit.codegen",
        below=("autojit.ir",),
        eager=frozenset({"numpy", "scipy", "numba", "llvmlite", "networkx"}),
        lazy=frozenset({"cuda", "platformdirs"}),  # NVIDIA's `cuda.bindings`
    ),
    "autojit": Layer(
        "autojit",
        below=("autojit.ir", "autojit.codegen"),
        eager=declared_dependencies(),  # what `import autojit` may load is tested below
    ),
}


@dataclass(frozen=True)
class Import:
    """One imported module: its full name, how it was spelt, and when it is imported."""

    name: str
    relative: bool
    lazy: bool
    line: int


def imports_in(tree: ast.Module, package: str) -> Iterator[Import]:
    """Every import of a module that lies in `package`, wherever it stands."""

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, False, lazy, child.lineno)
            elif isinstance(child, ast.ImportFrom):
                yield from imports_from(child, package, lazy)
            elif not isinstance(child, ast.expr):  # no import stands in an expression
                yield from walk(child, lazy or is_lazy(child))

    yield from walk(tree, lazy=False)


def imports_from(node: ast.ImportFrom, package: str, lazy: bool) -> Iterator[Import]:
    """`from a import b` names a.b, which may be a module: `from autojit import ir`."""
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        kept = parents[: max(0, len(parents) - node.level + 1)]
        base = ".".join([*kept, base] if base else kept)
    for alias in node.names:
        name = f"{base}.{alias.name}" if base else alias.name
        yield Import(name, bool(node.level), lazy, node.lineno)


def is_lazy(node: ast.AST) -> bool:
    """A function's body, or one that only a type checker reads."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def layer_of(name: str) -> str:
    """The package of the folder that holds a module of ours."""
    return max((la.package for la in LAYERS.values() if within(name, la.package)), key=len)


def fault(found: Import, layer: Layer, package: str) -> str | None:
    """What is wrong with an import in a package, or None."""
    if within(found.name, "autojit"):
        return fault_among_ours(found, layer, package)
    if found.relative:
        return "a relative import leaves the package"
    top = found.name.split(".")[0]
    if top in sys.stdlib_module_names or top in layer.eager:
        return None
    if top in layer.lazy:
        return None if found.lazy else f"{top} may be imported only inside a function"
    return f"{layer.package} may not use {top}"


def fault_among_ours(found: Import, layer: Layer, package: str) -> str | None:
    target = layer_of(found.name)
    if target != layer.package and target not in layer.below:
        return f"{layer.package} may not import {target}: imports run autojit -> codegen -> ir"
    is_neighbour = within(found.name, package)
    if found.relative and not is_neighbour:
        return "it lies in another folder: import it by its full name"
    return None


def package_of(path: Path, folder: Path, package: str) -> str:
    """The package that relative imports in `path` start from."""
    return ".".join([package, *path.relative_to(folder).parent.parts])


def faults_in(folder: Path, layer: Layer) -> list[str]:
    """`file:line: what is wrong`, for every module of a folder. (`rglob` skips the links.)"""
    return [
        f"{path.relative_to(folder.parent)}:{found.line}: `{found.name}`: {wrong}"
        for path in sorted(folder.rglob("*.py"))
        for package in [package_of(path, folder, layer.package)]
        for found in imports_in(ast.parse(path.read_text(encoding="utf-8")), package)
        if (wrong := fault(found, layer, package)) is not None
    ]


@pytest.mark.parametrize("folder", LAYERS)
def test_folder_keeps_to_its_layer(folder: str) -> None:
    assert list((ROOT / folder).rglob("*.py")), f"{folder}/ has no module"
    assert faults_in(ROOT / folder, LAYERS[folder]) == []


REFUSED = [
    ("ir", "x.py", "import numba", "may not use numba"),
    ("ir", "x.py", "import networkx", "only inside a function"),
    ("ir", "x.py", "import ir", "may not use ir"),
    ("ir", "x.py", "def f():\n    from codegen import run", "may not use codegen"),
    ("ir", "x.py", "import scipy.special", "only inside a function"),
    ("ir", "x.py", "def f():\n    import numba", "may not use numba"),
    ("ir", "x.py", "from autojit.codegen import run", "may not import autojit.codegen"),
    ("ir", "x.py", "from autojit import jit", "may not import autojit:"),
    ("ir", "x.py", "from .. import jit", "may not import autojit:"),
    ("ir", "ops/x.py", "from ...codegen import run", "may not import autojit.codegen"),
    ("ir", "ops/x.py", "from ..core.types import Type", "by its full name"),
    ("ir", "ops/x.py", "from .... import numpy", "leaves the package"),
    ("ir", "x.py", "class A:\n    import numba", "may not use numba"),
    ("ir", "x.py", "try:\n    import networkx\nexcept ImportError:\n    pass", "only inside"),
    ("codegen", "x.py", "import torch", "may not use torch"),
    ("codegen", "x.py", "from autojit import errors", "may not import autojit:"),
    ("codegen", "x.py", "def f():\n    import autojit", "may not import autojit:"),
    ("codegen", "x.py", "from ..ir import Program", "by its full name"),
    ("autojit", "functions/x.py", "from ..errors import TracingError", "by its full name"),
    ("autojit", "x.py", "def f():\n    import jax", "may not use jax"),
]

ALLOWED = [
    ("ir", "x.py", "import numpy as np\nimport math\nfrom .types import Type"),
    ("ir", "ops/x.py", "from autojit.ir.core.types import Type\nfrom . import unary"),
    ("ir", "x.py", "def f():\n    import networkx"),
    ("ir", "x.py", "if TYPE_CHECKING:\n    import networkx"),
    (
        "codegen",
        "x.py",
        "import numba\nfrom autojit.ir.core.types import Type\nfrom .loops import Nest",
    ),
    ("autojit", "x.py", "from autojit.ir import Program\nfrom autojit import codegen"),
    ("autojit", "scipy/x.py", "from autojit.tracing.tracer import Tracer\nimport optree"),
    ("autojit", "x.py", "import typer\n\ndef main():\n    import rich.console"),
]


def faults_of(folder: str, name: str, source: str, tmp_path: Path) -> list[str]:
    path = tmp_path / folder / name
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    return faults_in(tmp_path / folder, LAYERS[folder])


@pytest.mark.parametrize(("folder", "name", "source", "words"), REFUSED)
def test_checker_refuses(folder: str, name: str, source: str, words: str, tmp_path: Path) -> None:
    (wrong,) = faults_of(folder, name, source, tmp_path)
    assert words in wrong
    assert wrong.startswith(f"{folder}/{name}:")


@pytest.mark.parametrize(("folder", "name", "source"), ALLOWED)
def test_checker_allows(folder: str, name: str, source: str, tmp_path: Path) -> None:
    assert faults_of(folder, name, source, tmp_path) == []


HEAVY = {"numba", "llvmlite", "scipy", "networkx", "platformdirs", "typer", "rich", "jax", "torch"}


def heavy_after(statement: str) -> set[str]:
    """Which heavy packages a fresh interpreter has loaded after a statement."""
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return HEAVY & set(done.stdout.split())


@pytest.mark.parametrize("package", ["autojit", "autojit.ir"])
def test_import_is_light(package: str) -> None:
    assert heavy_after(f"import {package}") == set()


def test_light_import_check_sees_a_heavy_one() -> None:
    assert "networkx" in heavy_after("import networkx")


# -- layers and circles -------------------------------------------------------------------

#: The packages from the top down, each below all that import it; those in one row do not know of
#: each other.  Modules beside packages (`autojit.errors`) have a layer of their own.
FLOORS = (
    "__main__", "cli", "cli.looking cli.upkeep", "cli.running", "cli.coverage",
    "cli.coverage.calls", "cli.common", "autojit",
    "graphviz micrograd torch", "torch.distributions torch.utils", "torch.utils.data",
    "torch.optim", "torch.nn.utils", "torch.nn",
    "torch.nn.functional", "torch.precision", "torch.autograd", "torch.functions", "torch.engine",
    "scalar", "array_api drawing nn notebook numpy ode optim profiling testing",
    "drawing.programs validation", "drawing.graphs drawing.stages",
    "scipy.integrate scipy.interpolate scipy.optimize scipy.sparse scipy.spatial",
    "scipy.signal scipy.stats", "scipy.stats.statistics", "scipy.ndimage scipy.stats.families",
    "scipy.linalg",
    "solvers interception", "capture", "capture.results", "capture.runs", "capture.blocks",
    "capture.calls", "capture.calls.numbers", "capture.lists", "capture.values", "capture.state",
    "capture.users",
    "capture.rewriting", "capture.groups",
    "scipy.fft scipy.special", "devices", "callbacks control_flow dispatch scipy",
    "explanations", "notebook.html",
    "functions.polynomials functions.shapes functions.signals functions.statistics",
    "functions.bounded functions.linalg transformations",
    "arguments", "functions staging",
    "protocols", "tracing.running", "tracing", "session", "ir.transforms",
    "codegen", "codegen.driver codegen.export", "codegen.export.arrays codegen.export.loops",
    "codegen.export.text", "codegen.cuda.check", "codegen.cpu codegen.cuda",
    "codegen.cuda.driver codegen.cuda.executor codegen.cuda.printing", "codegen.cuda.mapping",
    "codegen.cuda.mapping.nests codegen.cuda.translation",
    "codegen.cuda.libraries", "codegen.cuda.matrices", "codegen.cuda.device_program",
    "codegen.cpu.entry_point", "codegen.cpu.emit", "codegen.cpu.linalg", "codegen.cpu.matmul",
    "codegen.cpu.abi", "codegen.cpu.llvm", "codegen.cpu.host",
    "codegen.lowering", "codegen.loop_passes",
    "codegen.loop_passes.counts codegen.loop_passes.rows codegen.loop_passes.tasks",
    "codegen.analysis",
    "codegen.scheduling",
    "codegen.loop_text", "errors",
    "codegen.vector_math", "codegen.loop_ir",
    "ir", "ir.passes", "ir.passes.algebra ir.passes.loops ir.passes.reroll",
    "ir.passes.loops.steps", "ir.linalg ir.special",
    "ir.regions", "ir.autodiff", "ir.autodiff.final", "ir.simplification", "ir.rewriting",
    "ir.ops", "ir.tools", "ir.pass_manager", "ir.core", "places spelling version",
)  # fmt: skip

#: Types that refer to each other: what an operation is (`Declaration`) is asked about operations.
MUTUAL_TYPES = {("autojit.ir.core.program", "autojit.ir.core.declaration")}


def all_modules() -> dict[str, Path]:
    """The modules and packages of the three folders, by name."""
    found = {}
    for folder, layer in LAYERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            name = ".".join([layer.package, *path.relative_to(ROOT / folder).with_suffix("").parts])
            found[name.removesuffix(".__init__")] = path
    return found


def import_graph(modules: dict[str, Path]) -> networkx.DiGraph:
    """Which module imports which, at whatever place in it: at its top, in a function, for types."""
    graph = networkx.DiGraph()
    for name, path in modules.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        for found in imports_in(ast.parse(path.read_text(encoding="utf-8")), package):
            target = found.name if found.name in modules else found.name.rpartition(".")[0]
            if target in modules and target != name and (name, target) not in MUTUAL_TYPES:
                graph.add_edge(name, target)
    return graph


def floor_of(module: str, packages: set[str]) -> str:
    """The package of a module, as ``FLOORS`` calls it."""
    package = module if module in packages else module.rpartition(".")[0]
    own = module if package == "autojit" and module != "autojit" else package
    return own.removeprefix("autojit.")


def test_no_circles_and_every_import_runs_downwards() -> None:
    modules = all_modules()
    packages = {name for name, path in modules.items() if path.stem == "__init__"}
    graph = import_graph(modules)
    circles = [sorted(c) for c in networkx.strongly_connected_components(graph) if len(c) > 1]
    assert circles == []
    height = {name: -k for k, row in enumerate(FLOORS) for name in row.split()}
    assert {floor_of(name, packages) for name in modules} == height.keys()
    upward = []
    for source, target in graph.edges:
        a, b = floor_of(source, packages), floor_of(target, packages)
        if a != b and height[a] <= height[b]:
            upward.append(f"{source} -> {target}")
    assert upward == []


#: Folders with more modules than this are hard to survey.
MOST_MODULES = 16


def test_no_folder_has_too_many_modules() -> None:
    folders = {path.parent for path in all_modules().values()}
    counts = {
        str(folder.relative_to(ROOT)): len([p for p in folder.glob("*.py") if p.stem[0] != "_"])
        for folder in folders
    }
    assert {name: n for name, n in counts.items() if n > MOST_MODULES} == {}
