"""The declarations of the commands that run, check and time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autojit.cli.common.options import (
    NEGATIVE_NUMBERS,
    Argnums,
    Arguments,
    High,
    Interpret,
    Low,
    Seed,
    Target,
    call,
    parsed,
)
from autojit.cli.common.terminal import reporting

commands = typer.Typer()


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def check(
    target: Target,
    args: Arguments = None,
    order: Annotated[int, typer.Option(metavar="N", min=1, max=4, help="Highest derivative.")] = 2,
    modes: Annotated[str, typer.Option(metavar="MODES", help="fwd, rev, or both.")] = "fwd,rev",
    seed: Seed = 0,
    low: Low = 0.0,
    high: High = 1.0,
    interpret: Interpret = False,
) -> None:
    """Compare derivatives with central differences."""
    from . import check as command

    f, values = call(target, args, seed, low, high)
    command.check(f, target, values, order, modes, seed, interpret)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="a program's text, or -")],
    args: Arguments = None,
    seed: Seed = 0,
    low: Low = 0.0,
    high: High = 1.0,
    interpret: Interpret = False,
) -> None:
    """Run a program from its text, on random inputs or yours."""
    from . import run as command

    command.run(file, parsed(args, seed, low, high), seed, low, high, interpret)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def bench(
    target: Target,
    args: Arguments = None,
    argnums: Argnums = "0",
    seed: Seed = 0,
    low: Low = 0.0,
    high: High = 1.0,
    seconds: Annotated[float, typer.Option(metavar="X", min=0.01, help="For each row.")] = 0.5,
) -> None:
    """Time a function, compiled, and its gradient beside NumPy."""
    from autojit.cli.common.targets import parse_argnums

    from . import bench as command

    f, values = call(target, args, seed, low, high)
    command.bench(f, target, values, parse_argnums(argnums), seconds)


@commands.command(context_settings={"allow_interspersed_args": False})
@reporting()
def profile(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="a Python file")],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARG", help="the script's")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help=".txt, .json, .svg or .html."),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a timeline for Perfetto.")
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Show the lines with times.")] = False,
) -> None:
    """Run a script and show where its time went."""
    from .profile import profile_script

    raise typer.Exit(profile_script(script, args or [], output, trace, source=source))
