"""Completion of command lines, for the scripts of ``autojit completion``.

All candidates are found without importing NumPy: commands and options from their declarations;
values of options from their help (``text, json or markdown.``) or from the section of the page
with their name (``Stages:`` for ``--stage``); passes and functions by reading source files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from autojit.cli.common import help as pages
from autojit.cli.common.modules import SUFFIXES, functions_in
from autojit.cli.common.streams import CHOICES

#: A candidate word, and its meaning.
Candidate = tuple[str, str]

_LISTED = re.compile(r"(\w+(?:, \w+)*,? or \w+)\b")
_PACKAGE = Path(__file__).resolve().parents[1]
#: The folders that declare passes.
_PARTS = ("ir", "codegen", "staging")


def answer(given: Sequence[str]) -> None:
    """Print the candidates for a shell, one per line.

    bash passes its word breaks and the line up to the cursor. The other shells pass their words;
    the last one is the word at the cursor.
    """
    shell, *rest = given
    if shell == "bash":
        breaks, line = rest
        words, is_open = split(line)
        shown = [word for word, _ in candidates(words)]
        cut = 0 if is_open else 1 + max(words[-1].rfind(sign) for sign in breaks if sign in ":=@")
        print(*(word[cut:] for word in shown), sep="\n")
        return
    for word, meaning in candidates(list(rest)):
        print(f"{word}\t{meaning}" if meaning else word)


def split(line: str) -> tuple[list[str], bool]:
    """The words after the command of a line, and whether the quote of the last word is open.

    The last word may be incomplete or empty.

    >>> split("autojit dump 'a b' fun")
    (['dump', 'a b', 'fun'], False)
    >>> split('autojit dump "f.py:')
    (['dump', 'f.py:'], True)
    """
    words, quote, inside = [""], "", False
    for sign in line:
        if quote:
            quote, sign = ("", "") if sign == quote else (quote, sign)
        elif sign in "'\"":
            quote, sign, inside = sign, "", True
        elif sign.isspace():
            if words[-1] or inside:
                words.append("")
            inside, sign = False, ""
        words[-1] += sign
    return words[1:] or [""], bool(quote)


def candidates(words: Sequence[str]) -> list[Candidate]:
    """The completions of the last word, and their meanings."""
    import typer.main

    from .app import app

    command: Any = typer.main.get_command(app)
    *before, current = words
    taken: list[str] = []
    awaiting = None  # the option whose value comes next
    for word in before:
        if awaiting is not None:
            awaiting = None
        elif word.startswith("-") and len(word) > 1:
            awaiting = word if _takes_value(command, word) else None
        elif word in getattr(command, "commands", {}):
            command, taken = command.commands[word], []
        else:
            taken.append(word)
    found = _following(command, taken, awaiting, current)
    return [(word, meaning) for word, meaning in found if word.startswith(current)]


def _following(
    command: Any, taken: Sequence[str], awaiting: str | None, current: str
) -> Iterator[Candidate]:
    name, equals, value = current.partition("=")
    if awaiting is not None:
        yield from _values(command, awaiting, current)
    elif equals and name.startswith("--"):
        yield from ((f"{name}={word}", words) for word, words in _values(command, name, value))
    elif current.startswith("-"):
        yield from _options(command)
    elif hasattr(command, "commands"):
        if taken:  # no command of ours
            return
        for word, below in command.commands.items():
            if not below.hidden:
                yield word, pages.parts(below.help or "")[0].split("\n\n")[0]
    else:
        yield from _arguments(command, taken, current)


def _options(command: Any) -> Iterator[Candidate]:
    for option in _declared(command):
        for name in option.opts:
            yield name, option.help or ""
    yield from (("--color", "auto, always or never."), ("--help", "Show this page."))


def _declared(command: Any) -> list[Any]:
    return [
        p
        for p in command.params
        if p.param_type_name == "option" and not p.hidden and "--help" not in p.opts
    ]


def _takes_value(command: Any, name: str) -> bool:
    return name == "--color" or any(
        name in option.opts and not option.is_flag for option in _declared(command)
    )


def _values(command: Any, name: str, current: str) -> Iterator[Candidate]:
    """The possible values of an option."""
    if name == "--color":
        yield from ((word, "") for word in CHOICES)
        return
    option = next((o for o in _declared(command) if name in o.opts), None)
    if option is None:
        return
    if option.metavar == "FILE":
        yield from _files(current)
    elif name in _OF_OPTIONS:
        listed = current.rpartition(",")[0]
        start = f"{listed}," if listed else ""
        yield from ((start + word, "") for word in _OF_OPTIONS[name]())
    elif section := dict(pages.parts(command.help or "")[1]).get(f"{name[2:].title()}s"):
        for row in section.splitlines():
            word, _, words = row.strip().partition(" ")
            yield word, words.strip()
    elif listed_words := _LISTED.match(option.help or ""):
        for word in re.split(r", or |, | or ", listed_words[1]):
            yield word, ""


def pass_names() -> list[str]:
    """The names of passes over programs and loops: their explicit or their module's names."""
    names = set()
    for path in (path for part in _PARTS for path in (_PACKAGE / part).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"^@\w+_pass\((.*?)^def ", text, re.M | re.S):
            named = re.search(r"\bname=\"(\w+)\"", found[1])
            names.add(named[1] if named else path.stem)
    return sorted(names)


def _transformations() -> list[str]:
    from autojit.cli.common.targets import TRANSFORMATIONS

    return list(TRANSFORMATIONS)


_OF_OPTIONS: dict[str, Callable[[], list[str]]] = {
    "--passes": lambda: ["optimize", "prepare", *pass_names()],
    "--print-after": pass_names,
    "--transform": _transformations,
}


def _pages() -> Iterator[Candidate]:
    """The pages about mistakes, and the errors that they explain."""
    from autojit.session.mistakes import pages

    found = pages().values()
    yield from ((page.name, page.title) for page in found)
    yield from ((name, "") for name in sorted({n for page in found for n in page.classes}))


def _namespaces() -> Iterator[Candidate]:
    text = (_PACKAGE / "cli" / "coverage" / "catalogue.py").read_text(encoding="utf-8")
    table = text.partition("\nNAMESPACES")[2].partition("\n}")[0]
    yield from ((name, "") for name in re.findall(r"\"((?:numpy|scipy)[\w.]*)\"", table))


_OF_ARGUMENTS: dict[str, Callable[[], Iterator[Candidate]]] = {
    "NAME": _pages,
    "NAMESPACE": _namespaces,
}

# -- arguments -----------------------------------------------------------------------


def _arguments(command: Any, taken: Sequence[str], current: str) -> Iterator[Candidate]:
    """The candidates for the next argument, by its metavar in the usage line."""
    declared = [p for p in command.params if p.param_type_name == "argument"]
    place = min(len(taken), len(declared) - 1)
    if place < 0 or (len(taken) >= len(declared) and declared[place].nargs == 1):
        return
    kind = declared[place].metavar
    if kind in ("TARGET", "A", "B"):
        yield from _targets(current)
    elif kind == "SCRIPT":
        yield from _files(current, ".py")
    elif kind in _OF_ARGUMENTS:
        yield from _OF_ARGUMENTS[kind]()
    elif kind == "FILE":
        yield from _files(current)
    elif kind == "ARG" and current.startswith("@"):
        yield from (("@" + name, "") for name, _ in _files(current[1:], ".npy", ".npz", ".csv"))
    elif listed := _LISTED.match(declared[place].help or ""):
        yield from ((word, "") for word in re.split(r", or |, | or ", listed[1]))


def _targets(current: str) -> Iterator[Candidate]:
    place, colon, _ = current.rpartition(":")
    if not colon:
        for name, _ in _files(current, *SUFFIXES):
            yield name if name.endswith("/") else f"{name}:", ""
        return
    is_file = place.endswith(SUFFIXES)
    path = Path(place if is_file else place.replace(".", "/") + ".py").expanduser()
    for name, words in functions_in(path):
        yield f"{place}:{name}", words


def _files(current: str, *suffixes: str) -> Iterator[Candidate]:
    """Folders and files that begin with a text; only files with one of the suffixes, if given."""
    folder, slash, start = current.rpartition("/")
    try:
        entries = sorted(
            os.scandir(os.path.expanduser(folder + slash) or "."), key=lambda e: e.name
        )
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(start) or (entry.name.startswith(".") and not start):
            continue
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield f"{folder}{slash}{entry.name}/", ""
        elif not suffixes or entry.name.endswith(suffixes):
            yield f"{folder}{slash}{entry.name}", ""
