"""Gives `mkdocs` the documents of the whole repository, each under its path there.

The pages link to each other and to sources by relative paths.  A site that keeps the tree keeps
these links; source files and folders that a page links to are shown as plain files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
FOLDERS = ("docs", "bench", "ir", "codegen", "autojit/decisions")


def pages() -> list[Path]:
    """The Markdown files of the site, sorted."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *found])


def linked(page: Path) -> set[Path]:
    """The files that a page links to and that are no pages: sources, pictures, the licence."""
    links = LINK.findall(page.read_text(encoding="utf-8"))
    targets = {(page.parent / link).resolve() for link in links if "://" not in link}
    return {path for path in targets if path.is_file() and path.suffix != ".md"}


def on_files(files: Files, config: Any) -> Files:
    """Put the files of the repository in place of those of docs/; the theme's stay."""
    for file in [file for file in files if file.src_dir == config["docs_dir"]]:
        files.remove(file)
    everything = pages()
    others = {path for page in everything for path in linked(page)}
    for path in [*everything, *sorted(others)]:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files
