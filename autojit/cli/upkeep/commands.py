"""The declarations of the commands about this installation."""

from __future__ import annotations

from typing import Annotated

import typer

from autojit.cli.common.groups import Commands
from autojit.cli.common.options import (
    NEGATIVE_NUMBERS,
    Argnums,
    Arguments,
    Format,
    Grad,
    Target,
    Transform,
    transformed_call,
)
from autojit.cli.common.terminal import reporting

commands = Commands()


@commands.command()
@reporting()
def doctor(format: Format = "text") -> None:
    """Run each part that autojit needs; say what works.

    Examples:
        autojit doctor
        autojit doctor --format json

    JSON:
        healthy   whether everything works that must
        findings  a list of: name, state (ok, failed, absent), words
    """
    from autojit.cli.common.machine import check_format

    from . import doctor as command

    check_format(format)
    if not command.doctor(format):
        raise typer.Exit(1)


@commands.command()
@reporting()
def mistakes(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A page, or a class of autojit.errors.")
    ] = None,
) -> None:
    """Explain an error or a warning: its cause, an example, and the fix.

    There is no JSON: the result is a page for readers.

    Examples:
        autojit mistakes
        autojit mistakes ShapeError
    """
    from . import mistakes as command

    command.mistakes(name)


cache = Commands(help="Look at the compiled code that is kept on disk, or remove it.")
commands.add_typer(cache, name="cache")


@cache.command()
@reporting()
def path(format: Format = "text") -> None:
    """Print the folder.

    Examples:
        autojit cache path

    JSON:
        folder  the folder
    """
    from . import cache as command

    command.path(format)


@cache.command()
@reporting()
def ls(format: Format = "text") -> None:
    """List what is kept, the last used first.

    Examples:
        autojit cache ls
        autojit cache ls --format json

    JSON:
        folder   the folder
        most     how many bytes are kept at most
        entries  a list of: file, bytes, used, usable, name, types, key
    """
    from . import cache as command

    command.ls(format)


@cache.command()
@reporting()
def clear(format: Format = "text") -> None:
    """Remove everything that is kept.

    Examples:
        autojit cache clear

    JSON:
        folder   the folder
        entries  how many were removed
        bytes    and how large they were
    """
    from . import cache as command

    command.clear(format)


@cache.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def why(
    target: Target,
    args: Arguments = None,
    grad: Grad = False,
    transform: Transform = None,
    argnums: Argnums = "0",
    format: Format = "text",
) -> None:
    """Say whether a call's code is kept, or else what differs.

    Examples:
        autojit cache why functions.py:loss "f64[3]" "f64[10,3]" --grad
        autojit cache why functions.py:loss "f64[3]" "f64[10,3]" --format json

    JSON:
        target       the function
        kept         whether its code is kept
        entry        the nearest entry's file, or null
        differences  a list of: part, words
    """
    from autojit.cli.common.machine import check_format

    from . import cache as command

    check_format(format)
    f, values = transformed_call(target, args, grad, transform, argnums)
    command.why(f, target, values, format)


@commands.command()
@reporting()
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that lets a shell complete the command.

    It completes commands, options, stages, formats, passes, files, and the functions in a file.
    There is no JSON: the result is a script.

    Set up:
        bash  in ~/.bashrc: eval "$(autojit completion bash)"
        zsh   in ~/.zshrc, after compinit: eval "$(autojit completion zsh)"
        fish  in ~/.config/fish/config.fish: autojit completion fish | source

    Examples:
        autojit completion bash
        autojit completion zsh
        autojit completion fish
    """
    from . import completion as command

    typer.echo(command.script(shell), nl=False)
