"""The wheel holds every module of the three folders, under `autojit`, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"autojit": "autojit", "ir": "autojit/ir", "codegen": "autojit/codegen"}
NOT_SOURCE = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")


def files_of_the_tree() -> set[str]:
    """Return the paths that a wheel should hold. (`rglob` does not follow links.)"""
    modules = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in (ROOT / folder).rglob("*.py")
    }
    pages = {f"autojit/mistakes/{p.name}" for p in (ROOT / "autojit/mistakes").glob("*.md")}
    return modules | pages | {"autojit/py.typed"}


def copy_of_the_source(to: Path) -> Path:
    """Copy the files that a build reads, without leftovers of earlier builds."""
    to.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, to / name)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, to / folder, symlinks=True, ignore=NOT_SOURCE)
    return to


def build_wheel(source: Path, into: Path, *through: str) -> list[str]:
    """Build a wheel and return the paths in it."""
    command = [sys.executable, "-m", "build", "--no-isolation", *through, "--outdir", str(into)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = into.glob("autojit-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if not name.endswith("/")]


# With neither flag, `build` makes the wheel from the sdist, where the links have become folders.
@pytest.mark.parametrize("through", [("--wheel",), ()], ids=["from the tree", "from the sdist"])
def test_wheel_is_the_tree(tmp_path: Path, through: tuple[str, ...]) -> None:
    names = build_wheel(copy_of_the_source(tmp_path / "source"), tmp_path / "dist", *through)
    installed = {name for name in names if ".dist-info/" not in name}
    expected = files_of_the_tree()
    assert {"autojit/__init__.py", "autojit/ir/__init__.py"} <= expected
    assert installed - expected == set(), "in the wheel, not in the tree"
    assert expected - installed == set(), "in the tree, not in the wheel: an __init__.py missing?"
    assert len(names) == len(set(names)), "a file is in the wheel twice"


def test_wheel_claims_one_name_and_carries_the_licence(tmp_path: Path) -> None:
    names = build_wheel(copy_of_the_source(tmp_path / "source"), tmp_path / "dist", "--wheel")
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"autojit"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.parametrize("folder", ["ir", "codegen"])
def test_folder_is_linked_into_the_package(folder: str) -> None:
    link = ROOT / "autojit" / folder
    assert link.is_symlink(), f"{link} is not a link: clone with `git -c core.symlinks=true`"
    assert Path(os.readlink(link)).as_posix() == f"../{folder}"
    assert link.resolve() == ROOT / folder
