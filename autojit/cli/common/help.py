"""The help pages that ``--help`` prints, made from the declarations of the commands.

A command's docstring is its page: sentences, then sections.  A section is a heading that ends with
a colon, followed by indented lines: ``name  words``, or a command to paste.
"""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: The largest page width; wider lines are hard to read.
WIDEST = 88

#: Options that all commands take.
COMMON = (
    ("--color WHEN", "auto, always or never. [default: auto]"),
    ("-h, --help", "Show this page."),
)

#: The files used in examples; the main page shows them.
EXAMPLE_FILES = ("functions.py", "script.py")

Rows = Sequence[tuple[str, str]]


def page_width(given: int | None = None) -> int:
    """The width of pages: that of the terminal, within limits."""
    return max(40, min(WIDEST, given or shutil.get_terminal_size((80, 24)).columns))


def command_page(command: Any, path: str, width: int) -> str:
    """The page of one command."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = [*map(_in_usage, arguments), "[OPTIONS]"]
    if runs_script(command):
        words = [words[-1], *words[:-1]]
    taken = " ".join([path, *words])
    sentences, sections = parts(command.help or "")
    lines = [
        *textwrap.wrap("Usage: " + taken, width, subsequent_indent=" " * 7),
        "",
        *_paragraphs(sentences, width),
    ]
    if arguments:
        lines += ["", "Arguments:", *_rows([(a.metavar, a.help or "") for a in arguments], width)]
    lines += ["", "Options:", *_rows([*_options(command), *COMMON], width)]
    lines += [*_sections(sections, width), *_files_of_examples(command, width)]
    return "\n".join(lines)


def _files_of_examples(command: Any, width: int) -> list[str]:
    """A line that says where the files used in the examples are shown."""
    text = "\n".join(examples(command))
    named = [file for file in EXAMPLE_FILES if file in text]
    if not named:
        return []
    words = f"autojit --help shows the {' and the '.join(named)} of the examples at its end."
    return ["", *textwrap.wrap(words, width)]


def group_page(
    group: Any, path: str, panels: Mapping[str, Sequence[str]], after: str, width: int
) -> str:
    """The page of a group of commands, or of the whole application."""
    sentences, sections = parts(group.help or "")
    lines = [f"Usage: {path} COMMAND …", "", *_paragraphs(sentences, width)]
    names = max(map(len, group.commands))
    for heading, members in panels.items():
        rows = [
            (name.ljust(names), parts(group.commands[name].help or "")[0].split("\n\n")[0])
            for name in members
            if name in group.commands and not group.commands[name].hidden
        ]
        lines += ["", f"{heading}:", *_rows(rows, width)]
    lines += ["", "Options:", *_rows([*_options(group), *COMMON], width)]
    return "\n".join([*lines, *_sections([*sections, *parts(after)[1]], width)])


def runs_script(command: Any) -> bool:
    """Whether the words after the first argument belong to a script rather than the command."""
    return not command.context_settings.get("allow_interspersed_args", True)


def examples(command: Any) -> list[str]:
    """The example commands on a page, which users can paste."""
    sections = dict(parts(command.help or "")[1])
    return [line.strip() for line in sections.get("Examples", "").splitlines() if line.strip()]


def parts(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The sentences of a docstring, and its sections by heading.

    >>> parts('''Time it.
    ...
    ... Examples:
    ...     autojit bench f.py:f''')
    ('Time it.', [('Examples', 'autojit bench f.py:f')])
    """
    sentences: list[str] = []
    sections: list[tuple[str, str]] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        first, _, rest = block.partition("\n")
        if first.endswith(":") and rest.startswith(" "):
            sections.append((first[:-1], textwrap.dedent(rest)))
        else:
            sentences.append(block)
    return "\n\n".join(sentences), sections


def _in_usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    many = "…" if argument.nargs != 1 else ""
    return f"{name}{many}" if argument.required else f"[{name}{many}]"


def _options(command: Any) -> Iterator[tuple[str, str]]:
    for option in command.params:
        if option.param_type_name != "option" or option.hidden or "--help" in option.opts:
            continue
        names = ", ".join(sorted(option.opts, key=len))
        words = option.help or ""
        if not option.is_flag:
            names += f" {option.metavar or option.name.upper()}"
            if option.default not in (None, ""):
                words += f" [default: {option.default}]"
        yield names, words


def _paragraphs(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += ["", *textwrap.wrap(" ".join(paragraph.split()), width)]
    return lines[1:]


def _sections(sections: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    for heading, body in sections:
        yield from ("", f"{heading}:")
        lines = body.splitlines()
        if heading.endswith(".py"):  # a file
            yield from (f"  {line}" for line in lines)
            continue
        rows = [re.fullmatch(r"(\S.*?)\s{2,}(\S.*)", line) for line in lines]
        if all(rows):
            yield from _rows([(row[1], row[2]) for row in rows if row], width)
        else:
            for line in lines:
                yield from _pasted(line.strip(), width)


def _rows(rows: Rows, width: int) -> list[str]:
    """Names in a column with words beside them; words go below names that are too long."""
    column = max((len(name) for name, _ in rows), default=0)
    column = min(column, max(20, width // 3 - 4))
    lines = []
    for name, words in rows:
        wrapped = textwrap.wrap(" ".join(words.split()), width - column - 4) or [""]
        if len(name) > column:
            lines.append(f"  {name}")
            name = ""
        else:
            lines.append(f"  {name:<{column}}  {wrapped.pop(0)}")
        lines += [" " * (column + 4) + line for line in wrapped]
    return [line.rstrip() for line in lines]


def _pasted(line: str, width: int) -> list[str]:
    """A command for a shell, over several lines if it is long."""
    if len(line) + 2 <= width:
        return ["  " + line]
    lines, current = [], "  "
    for word in re.findall(r"(?:\"[^\"]*\"|'[^']*'|\S)+", line):
        if len(current) + len(word) + 3 > width and current.strip():
            lines.append(current.rstrip() + " \\")
            current = " " * 6
        current += word + " "
    return [*lines, current.rstrip()]


def words_of(example: str) -> list[str]:
    """The words of an example, as a shell gives them to the command."""
    return shlex.split(example)
