"""The behaviour of all commands: help pages, common options, messages and exit codes."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import typer
import typer.core

from autojit.session.progress import shown
from autojit.spelling import closest

from . import help as pages
from . import streams
from .failures import MISUSE, Failure
from .terminal import complain

#: Exit codes as in shells: ended by Ctrl-C; the reader of the output has gone.
INTERRUPTED, UNREAD = 130, 141

_HELP = ("-h", "--help")


def _with_headings(page: str) -> str:
    """A page with bold headings if stdout has colours."""
    if not streams.coloured(sys.stdout):
        return page
    return re.sub(r"(?m)^(?:Usage:|[A-Z][\w ]{0,24}:$|\w+\.py:$)", "\x1b[1m\\g<0>\x1b[0m", page)


class _Unread(Exception):
    """Raised if the pipe that is written to has no reader any more."""


class Command(typer.core.TyperCommand):
    """A command with autojit's help page and ``--color``, which rejects unknown options."""

    def get_help(self, ctx: Any) -> str:
        width = pages.page_width(ctx.terminal_width)
        return _with_headings(pages.command_page(self, ctx.command_path, width))

    def invoke(self, ctx: Any) -> Any:
        try:
            what = "" if pages.runs_script(self) else "running"  # a script prints what it likes
            with shown(what, str(self.name)):
                found = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:  # typer would end the process with code 1
            raise _Unread from error
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = _without_script(self, args)
        args, others = _without_color(args[:own]), args[own:]
        _check_options(self, args, ctx.command_path)
        try:
            return super().parse_args(ctx, args + others)
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise


class Group(typer.core.TyperGroup):
    """Commands with a common name."""

    #: Headings, and the names of the commands below them, in order; other commands follow.
    panels: ClassVar[Mapping[str, Sequence[str]]] = {}
    #: Sections at the end of the page.
    after = ""

    def get_help(self, ctx: Any) -> str:
        named = {name for names in self.panels.values() for name in names}
        rest = [name for name in self.commands if name not in named]
        panels = {**self.panels, **({"More commands": rest} if rest and named else {})}
        width = pages.page_width(ctx.terminal_width)
        panels = panels or {"Commands": rest}
        page = pages.group_page(self, ctx.command_path, panels, self.after, width)
        return _with_headings(page)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            typer.echo(self.get_help(ctx))
            raise typer.Exit
        first = next((k for k, word in enumerate(args) if word in self.commands), len(args))
        own = _without_color(args[:first])
        if own and not own[0].startswith("-"):
            listed = [name for names in self.panels.values() for name in names]
            raise Failure(
                f"there is no command {ctx.command_path} {own[0]}."
                f"{closest(own[0], self.commands)} Commands: {', '.join(listed or self.commands)}"
            )
        _check_options(self, own, ctx.command_path)
        return super().parse_args(ctx, own + args[first:])

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; turn failures of every kind into a message and an exit code."""
        streams.choose("auto")
        streams.fit_encodings()
        code = self._run(args, prog_name, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, args: Sequence[str] | None, name: str | None, extra: dict[str, Any]) -> int:
        try:
            code = super().main(args, name, standalone_mode=False, **extra)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except Failure as failure:
            complain(str(failure))
            return failure.code
        except (_Unread, BrokenPipeError):
            _leave_pipe()
            return UNREAD
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except Exception as error:
            if not hasattr(error, "format_message"):  # those of the library below do
                raise
            complain(_misuse(error))
            return MISUSE


class Commands(typer.Typer):
    """An application, or a part of one, whose commands are of the class :class:`Command`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode=None,
            **{"cls": Group, **settings},
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        settings.setdefault("cls", Command)
        return super().command(name, **settings)


def _without_script(command: Any, args: Sequence[str]) -> int:
    """The number of words that belong to the command itself: all, or those up to the script."""
    if not pages.runs_script(command):
        return len(args)
    takes_value = _taking_values(command)
    words = enumerate(args)
    for k, word in words:
        if word == "--" or not _is_option(word):
            return k + 1
        if word in takes_value:
            next(words, None)
    return len(args)


def _taking_values(command: Any) -> set[str]:
    options = [p for p in command.params if p.param_type_name == "option" and not p.is_flag]
    return {name for option in options for name in option.opts} | {"--color", "--colour"}


def _without_color(args: Sequence[str]) -> list[str]:
    """Apply ``--color``, and return the other words; words after ``--`` stay."""
    kept: list[str] = []
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            return [*kept, word, *words]
        if name not in ("--color", "--colour"):
            kept.append(word)
            continue
        value = value if equals else next(words, "")
        if value not in streams.CHOICES:
            raise Failure(
                f"--color is {', '.join(streams.CHOICES[:-1])} or {streams.CHOICES[-1]}; "
                f"got {value!r}{closest(value, streams.CHOICES)}"
            )
        streams.choose(value)
    return kept


def _check_options(command: Any, args: Sequence[str], path: str) -> None:
    """Raise for an unknown option; -1.5 and -inf are numbers, not options."""
    options = [p for p in command.params if p.param_type_name == "option"]
    known = {name for option in options for name in option.opts} | {*_HELP, "--color"}
    takes_value = _taking_values(command)
    numbers = {n: o.metavar for o in options if o.metavar in _NUMBERS for n in o.opts}
    words = iter(args)
    for word in words:
        name = word.partition("=")[0]
        if word == "--":
            return
        if name in takes_value:
            value = next(words, "") if name == word else word.partition("=")[2]
            if name in numbers:
                _check_number(name, value, numbers[name])
        elif _is_option(word) and name not in known and word[:2] not in known:
            raise Failure(f"{path} has no option {name}.{closest(name, known)} See {path} --help")


#: Options with these metavars take numbers.
_NUMBERS = {"N": (int, "an integer"), "X": (float, "a number")}


def _check_number(option: str, value: str, kind: str) -> None:
    read, words = _NUMBERS[kind]
    try:
        read(value)
    except ValueError:
        raise Failure(f"{option} takes {words}; got {value!r}") from None


def _is_option(word: str) -> bool:
    return (
        len(word) > 1
        and word[0] == "-"
        and (word[1] == "-" or word[1:2].isalpha())
        and (word not in ("-inf", "-nan"))
    )


def _misuse(error: Any) -> str:
    """The library's message about a command line, with a hint where to look."""
    words = str(error.format_message()).strip().rstrip(".")
    context = getattr(error, "ctx", None)
    tail = f"See {context.command_path if context else 'autojit COMMAND'} --help"
    if context and (extra := re.match(r"Got unexpected extra arguments?\S* \((.*)\)", words)):
        return f"{context.command_path} does not take {extra[1]}. {tail}"
    if context and type(error).__name__ == "MissingParameter":
        shown = [line for line in pages.examples(context.command) if context.command_path in line]
        tail = f"For example:\n  {shown[0]}" if shown else tail
    return f"{words[:1].lower()}{words[1:]}. {tail}"


def _leave_pipe() -> None:
    """Prevent writes to a pipe without a reader, also at the end of the process."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
