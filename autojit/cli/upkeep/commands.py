"""The declarations of the commands about this installation."""

from __future__ import annotations

from typing import Annotated

import typer

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

commands = typer.Typer()


@commands.command()
@reporting()
def doctor() -> None:
    """Run each part that autojit needs; say what works."""
    from . import doctor as command

    if not command.doctor():
        raise typer.Exit(1)


@commands.command()
@reporting()
def mistakes(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A page, or a class of autojit.errors.")
    ] = None,
) -> None:
    """Explain an error or a warning: its cause, an example, and the fix."""
    from . import mistakes as command

    command.mistakes(name)


cache = typer.Typer(
    help="Look at the compiled code that is kept on disk, or remove it.", no_args_is_help=True
)
commands.add_typer(cache, name="cache")


@cache.command()
@reporting()
def path() -> None:
    """Print the folder."""
    from . import cache as command

    command.path()


@cache.command()
@reporting()
def ls(format: Format = "text") -> None:
    """List what is kept, the last used first."""
    from . import cache as command

    command.ls(format)


@cache.command()
@reporting()
def clear() -> None:
    """Remove everything that is kept."""
    from . import cache as command

    command.clear()


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
    """Say whether a call's code is kept, or else what differs."""
    from . import cache as command

    command.check_format(format)
    f, values = transformed_call(target, args, grad, transform, argnums)
    command.why(f, target, values, format)
