"""Modules from files: a Python file, a file of a package, or a notebook."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import json
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from autojit.session.progress import shown

from .failures import FAULT, Failure, running

#: The endings of files with functions.
SUFFIXES = (".py", ".ipynb")

_FORM = "TARGET is path/to/file.py:function"


def load_module(place: str) -> ModuleType:
    """The module of a target: a file or a dotted name."""
    if place.endswith(SUFFIXES):
        return _of_file(Path(place).expanduser())
    if not all(part.isidentifier() for part in place.split(".")):
        return _no_python(Path(place))
    return _of_name(place)


def _no_python(path: Path) -> ModuleType:
    if path.is_dir():
        raise Failure(f"{path} is a folder. {_FORM}")
    if path.exists():
        raise Failure(f"{path} is not a Python file (.py) or a notebook (.ipynb)")
    raise Failure(f"there is no file {path}.{_files_near(path)} {_FORM}")


def _of_file(path: Path) -> ModuleType:
    if path.is_dir():
        raise Failure(f"{path} is a folder. {_FORM}")
    if not path.is_file():
        raise Failure(f"there is no file {path}.{_files_near(path)} {_FORM}")
    full = path.resolve()
    name, root = _in_package(full)
    for folder in dict.fromkeys((root, full.parent)):
        sys.path.insert(0, str(folder))  # the file's folder comes first, as for `python file.py`
    if path.suffix == ".ipynb":
        return _of_notebook(path, name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    with running(f"importing {path}"), shown("importing", str(path)):
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            if "no known parent package" not in str(error):
                raise
            raise Failure(
                f"{path} uses relative imports, but its folder has no __init__.py. Create one, "
                "or name the module from the folder above: "
                f"{full.parent.name}.{full.stem}:function",
                FAULT,
            ) from None
    return module


def _in_package(path: Path) -> tuple[str, Path]:
    """The module's name, including the packages around the file, and the folder around these."""
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def _of_name(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with shown("importing", name):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            as_file = Path(name.replace(".", "/") + ".py")
            raise Failure(
                f"there is no module {error.name!r}.{_files_near(as_file)} "
                f"For a file write {as_file}:function"
            ) from None
        raise Failure(f"importing {name}: {error}", FAULT) from None
    except Exception:
        with running(f"importing {name}"):
            raise
        raise


def _files_near(path: Path) -> str:
    """``" Did you mean x.py?"`` if the folder contains a file with a similar name.

    For the file of the examples, a hint where to find it.
    """
    folder = path.parent if path.parent.is_dir() else Path()
    names = [p.name for p in folder.iterdir() if p.suffix in SUFFIXES]
    if near := difflib.get_close_matches(path.name, names, 1):
        return f" Did you mean {folder / near[0]}?"
    if str(path) == "functions.py":
        return " `autojit --help` shows the one that the examples name."
    return ""


# -- notebooks -----------------------------------------------------------------------


def _of_notebook(path: Path, name: str) -> ModuleType:
    """The module made by running the code cells of a notebook in order."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules.setdefault(name, module)
    with running(f"importing {path}"), shown("importing", str(path)):
        for number, text in enumerate(cells(path), 1):
            place = f"{path.name} cell {number}"
            linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
            exec(compile(text, place, "exec"), module.__dict__)
    return module


def cells(path: Path) -> list[str]:
    """The code of a notebook's cells, without IPython's special lines.

    Cells are numbered as in the notebook, counting code cells only.
    """
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        parts = [cell["source"] for cell in found["cells"] if cell["cell_type"] == "code"]
        texts = [part if isinstance(part, str) else "".join(part) for part in parts]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError):
        raise Failure(f"{path} is not a notebook") from None
    return [_plain(text) for text in texts]


def _plain(cell: str) -> str:
    """A cell as Python; IPython's lines become empty, so that the others keep their numbers.

    >>> _plain("%matplotlib inline\\nx = 1\\n!ls\\nx?")
    '\\nx = 1\\n\\n'
    >>> _plain("%%bash\\nls")
    ''
    """
    first = cell.lstrip().partition("\n")[0]
    if first.startswith("%%") and first.split()[0] not in ("%%time", "%%timeit", "%%capture"):
        return ""
    lines = cell.split("\n")
    return "\n".join("" if _is_magic(line.strip()) else line for line in lines)


def _is_magic(line: str) -> bool:
    return line.startswith(("%", "!", "?")) or (line.endswith("?") and "#" not in line)


# -- what a file defines -------------------------------------------------------------


def functions_in(path: Path) -> list[tuple[str, str]]:
    """The functions that a file defines, with their parameters; methods as ``Class.method``.

    The file is parsed, not run.
    """
    try:
        texts = cells(path) if path.suffix == ".ipynb" else [path.read_text(encoding="utf-8")]
        nodes = [node for text in texts for node in ast.parse(text).body]
    except (OSError, SyntaxError, ValueError, Failure):
        return []
    found = [pair for node in nodes for pair in _defined_by(node)]
    return [(name, words) for name, words in found if not name.startswith("_")]


def _defined_by(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef):
        yield node.name, ast.unparse(node.args)
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.Lambda):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        yield from ((name, ast.unparse(node.value)[:40]) for name in names)
    elif isinstance(node, ast.ClassDef):
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        yield from (
            (f"{node.name}.{m.name}", ast.unparse(m.args)) for m in methods if m.decorator_list
        )
