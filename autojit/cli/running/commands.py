"""The declarations of the commands that run, check and time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autojit.cli.common.groups import Commands
from autojit.cli.common.machine import check_format
from autojit.cli.common.options import (
    NEGATIVE_NUMBERS,
    Argnums,
    Arguments,
    Format,
    High,
    Interpret,
    Low,
    Seed,
    Target,
    call,
    check_range,
    parsed,
)
from autojit.cli.common.terminal import reporting

commands = Commands()


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def check(
    target: Target,
    args: Arguments = None,
    order: Annotated[int, typer.Option(metavar="N", help="Highest derivative, 1 to 4.")] = 2,
    modes: Annotated[
        str, typer.Option(metavar="MODES", help="fwd or rev; both: fwd,rev.")
    ] = "fwd,rev",
    seed: Seed = 0,
    low: Low = 0.0,
    high: High = 1.0,
    interpret: Interpret = False,
    format: Format = "text",
) -> None:
    """Compare a function's derivatives with central differences.

    The arguments are drawn at random where they are types. The first derivative that differs ends
    the check, with exit code 1.

    Examples:
        autojit check functions.py:loss "f64[3]" "f64[10,3]"
        autojit check functions.py:loss "[0.1, -2.0, 3.0]" "f64[10,3]" --order 1
        autojit check functions.py:loss "f64[3]" "f64[10,3]" --modes rev --format json

    JSON:
        target       the function
        agrees       whether all derivatives do
        derivatives  a list of: name, agrees, exact, numeric, error, tolerance
    """
    from . import check as command

    check_format(format)
    check_range("--order", order, 1, 4)
    f, values = call(target, args, seed, low, high)
    command.check(f, target, values, order, modes, seed, interpret, format)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="a program's text, or -")],
    args: Arguments = None,
    seed: Seed = 0,
    low: Low = 0.0,
    high: High = 1.0,
    interpret: Interpret = False,
    format: Format = "text",
) -> None:
    """Run a program from its text, on random inputs or yours.

    It takes what autojit dump prints at the stages trace, optimized and loops.

    Examples:
        autojit dump functions.py:loss "f64[3]" "f64[10,3]" --grad -o slope.ir
        autojit run slope.ir "[0.1, -2.0, 3.0]"
        autojit dump functions.py:loss "f64[3]" "f64[10,3]" --stage loops | autojit run -

    JSON:
        program  its name
        results  a list of: type, value (nan, inf and complex numbers are strings)
    """
    from . import run as command

    check_format(format)
    command.run(file, parsed(args, seed, low, high), seed, low, high, interpret, format)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def bench(
    target: Target,
    args: Arguments = None,
    argnums: Argnums = "0",
    seed: Seed = 0,
    low: Low = 0.0,
    high: High = 1.0,
    seconds: Annotated[float, typer.Option(metavar="X", help="How long each way is timed.")] = 0.5,
    format: Format = "text",
) -> None:
    """Time a function, compiled, and its gradient beside NumPy.

    Examples:
        autojit bench functions.py:loss "f64[3]" "f64[100000,3]"
        autojit bench functions.py:loss "f64[3]" "f64[100,3]" --seconds 0.1 --format json

    JSON:
        target  the function
        rows    a list of: name, first_seconds, call_seconds; or name, absent (why there is none)
    """
    from autojit.cli.common.targets import check_argnums, parse_argnums

    from . import bench as command

    check_format(format)
    check_range("--seconds", seconds, 0.01, 3600)
    f, values = call(target, args, seed, low, high)
    positions = parse_argnums(argnums, f)
    check_argnums(positions, values)
    command.bench(f, target, values, positions, seconds, format)


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
    """Run a script and show where its time went.

    JSON is written by -o FILE.json.

    Examples:
        autojit profile script.py
        autojit profile -o profile.html --trace timeline.json script.py
    """
    from .profile import profile_script

    raise typer.Exit(profile_script(script, args or [], output, trace, source=source))
