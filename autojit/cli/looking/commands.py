"""The declarations of the commands that show a function or a program."""

from __future__ import annotations

from typing import Annotated

import typer

from autojit.cli.common.failures import Failure
from autojit.cli.common.options import (
    NEGATIVE_NUMBERS,
    Argnums,
    Arguments,
    Grad,
    Output,
    Target,
    Transform,
    transformed_call,
)
from autojit.cli.common.terminal import reporting

commands = typer.Typer()


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def dump(
    target: Target,
    args: Arguments = None,
    grad: Grad = False,
    transform: Transform = None,
    argnums: Argnums = "0",
    stage: Annotated[
        str | None,
        typer.Option(
            metavar="STAGE",
            help="trace, optimized, loops, vectors, llvm, asm, cuda, ptx or all; "
            "optimized unless given.",
        ),
    ] = None,
    passes: Annotated[
        bool, typer.Option("--passes", help="Which passes ran, what they changed, how long.")
    ] = False,
    print_after: Annotated[
        str | None,
        typer.Option(metavar="PASS", help="The program each time that PASS has changed it."),
    ] = None,
    remarks: Annotated[
        bool, typer.Option("--remarks", help="Why loops are not fused, rolled up, vector code …")
    ] = False,
    format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="text; json (--passes, --remarks; stages trace, optimized, loops); "
            "svg, html or dot: a picture (the same stages).",
        ),
    ] = "text",
    adjoint: Annotated[
        bool,
        typer.Option("--adjoint", help="A picture of the gradient beside the function."),
    ] = False,
    by: Annotated[
        str,
        typer.Option(metavar="GROUPS", help="Boxes of a picture: line, loop, call or none."),
    ] = "line",
    values: Annotated[
        bool, typer.Option("--values", help="Values in a picture; arrays of types are random.")
    ] = False,
    output: Output = None,
) -> None:
    """Print a function at each stage of its compilation."""
    from . import dump as command

    look = command.Look(adjoint, by, values, argnums)
    what = command.Choice(stage, passes, print_after, remarks, format, look)
    what.check()
    if adjoint and (grad or transform is not None):
        raise Failure("--adjoint draws the gradient itself: leave out --grad and --transform")
    f, given = transformed_call(target, args, grad, transform, argnums)
    command.dump(f, given, what, output)


@commands.command()
@reporting()
def opt(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="a program's text, or -")
    ] = None,
    passes: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Passes to run, in order: cse,dce.")
    ] = None,
    list: Annotated[bool, typer.Option("--list", help="List the passes.")] = False,
    output: Output = None,
) -> None:
    """Run passes on a program's text, and print what they make of it."""
    from autojit.cli.common.terminal import give

    from . import passes as command

    if list:
        give(command.listed(), output)
    elif file is None or not passes:
        raise Failure(
            "opt takes a program's text and passes: autojit opt program.ir --passes simplify,dce. "
            "autojit opt --list lists them"
        )
    else:
        give(command.opt(file, [name.strip() for name in passes.split(",")]), output)


@commands.command()
@reporting()
def coverage(
    namespaces: Annotated[
        list[str] | None, typer.Argument(metavar="NAMESPACE", help="numpy, scipy.special …")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run a sample call of each.")] = False,
    compiled: Annotated[bool, typer.Option("--compiled", help="Compile these, too.")] = False,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, json or markdown.")] = "text",
    output: Output = None,
) -> None:
    """Say which functions of NumPy and SciPy take traced arrays."""
    from autojit.cli.common.terminal import give
    from autojit.cli.coverage import report as command

    try:
        text = command.table(namespaces or [], run=run, compiled=compiled, format=format)
    except ValueError as error:
        raise Failure(str(error)) from None
    give(text, output)
