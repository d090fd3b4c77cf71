"""The declarations of the commands that show a function or a program."""

from __future__ import annotations

from typing import Annotated

import typer

from autojit.cli.common.failures import Failure
from autojit.cli.common.groups import Commands
from autojit.cli.common.options import (
    NEGATIVE_NUMBERS,
    Argnums,
    Arguments,
    Format,
    FormatOfFile,
    Grad,
    Output,
    Target,
    Transform,
    both_calls,
    format_of,
    transformed_call,
)
from autojit.cli.common.terminal import CODE, LISTING, check_for_reading, give, reporting

commands = Commands()


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
            help="One of those below. [default: optimized]",
        ),
    ] = None,
    passes: Annotated[
        bool, typer.Option("--passes", help="The passes that ran, their changes and times.")
    ] = False,
    print_after: Annotated[
        str | None,
        typer.Option(metavar="PASS", help="The program each time that PASS has changed it."),
    ] = None,
    remarks: Annotated[
        bool, typer.Option("--remarks", help="Why loops were not fused, rolled up, vectorised …")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="text, json, svg, html or dot. [default: by FILE's ending, or text]",
        ),
    ] = None,
    adjoint: Annotated[
        bool,
        typer.Option("--adjoint", help="A picture of the gradient beside the function."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="GROUPS", help="line, loop, call or none: boxes of a picture. [default: line]"
        ),
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Values in a picture; arrays of types are random.")
    ] = False,
    output: Output = None,
) -> None:
    """Print a function at a stage of its compilation.

    Stages:
        trace      the ops that were traced, with your lines
        optimized  the program after the passes over programs
        loops      the loops that it becomes, fused
        vectors    which of these loops are vector code
        llvm       LLVM's text, optimised
        asm        machine code of this processor
        cuda       CUDA's source for a GPU
        ptx        its code for a GPU
        all        all of these; with --format html on one page, line by line

    Examples:
        autojit dump functions.py:loss "f64[3]" "f64[10,3]" --grad --stage loops
        autojit dump functions.py:loss "f64[3]" "f64[10,3]" --stage all --format html -o loss.html
        autojit dump functions.py:loss "f64[3]" "f64[10,3]" --adjoint --format svg -o loss.svg

    JSON:
        --stage trace, optimized  name, inputs, ops, outputs
        --stage loops, --adjoint  schema, kind, name, caption, groups, nodes, edges
        --passes                  passes, record_seconds
        --remarks                 a list of: pass, place, reason, way_out
    """
    from . import dump as command

    format = format_of(format, output, command.KNOWN)
    look = command.Look(adjoint, by, values, argnums)
    what = command.Choice(stage, passes, print_after, remarks, format, look)
    what.check()
    check_for_reading(format, output, "stages" if what.is_page else "picture")
    if adjoint and (grad or transform is not None):
        raise Failure("--adjoint draws the gradient itself: leave out --grad and --transform")
    f, derived, given = both_calls(target, args, grad, transform, argnums)
    if what.is_page:
        give(command.page(f, derived, given, is_grad=grad or transform == "grad"), output)
    else:
        command.dump(derived or f, given, what, output)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def explain(
    target: Target,
    args: Arguments = None,
    grad: Grad = False,
    transform: Transform = None,
    argnums: Argnums = "0",
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="text, html or json. [default: by FILE's ending, or text]"
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Say what the compiled code of a function does, and why: loops, bytes, time.

    Examples:
        autojit explain functions.py:loss "f64[3]" "f64[1000,3]"
        autojit explain functions.py:loss "f64[3]" "f64[1000,3]" --grad --format html -o loss.html

    For a function that jit(f, device="cuda") compiles for a GPU, it says how
    each kernel is launched, and runs nothing.

    JSON:
        name              of the function
        signature         types of arguments and results
        steps             of the compiled code, in order: loop nests and library calls
        traced            how many operations were traced
        optimized         and how many were left
        bytes_in_out      of arguments and results
        temporaries       bytes
        cache             where the code is from
        times             seconds of trace, passes, lowering, compilation
        seconds           of a call, the fastest
        calls             how many were timed
        machine           what the machine reaches, in words
        python_loops      which were captured or unrolled
        flops             of a call
        roofline_seconds  the least time of a call that this machine allows
    """
    from autojit.cli.common.machine import check_format

    from . import explain as command

    format = format_of(format, output, command.FORMATS)
    check_format(format, command.FORMATS)
    check_for_reading(format, output, "explanation")
    f, values = transformed_call(target, args, grad, transform, argnums)
    command.explain(f, values, format, output)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def source(
    target: Target,
    args: Arguments = None,
    grad: Grad = False,
    transform: Transform = None,
    argnums: Argnums = "0",
    to: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="LANGUAGE",
            help="numpy, numba or c. NumPy: a statement for each of yours; the others: the loops "
            "that are compiled. [default: c for a FILE.c, or numpy]",
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(metavar="NAME", help="Name of the function. [default: loss_grad …]"),
    ] = "",
    output: Output = None,
) -> None:
    """Write a function, or its derivative, as source code that does not need autojit.

    There is no JSON: the result is source code.

    Examples:
        autojit source functions.py:loss "f64[3]" "f64[10,3]" --grad
        autojit source functions.py:loss "f64[3]" "f64[10,3]" --grad --target c -o loss.c
    """
    from . import source as command

    to = to or ("c" if output is not None and output.suffix == ".c" else "numpy")
    command.check(to, name)
    f, values = transformed_call(target, args, grad, transform, argnums)
    give(command.text(f, values, to, name), output)


@commands.command(context_settings=NEGATIVE_NUMBERS)
@reporting()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="a program's text, or a TARGET")],
    b: Annotated[str, typer.Argument(metavar="B", help="another")],
    args: Arguments = None,
    grad: Grad = False,
    transform: Transform = None,
    argnums: Argnums = "0",
    stage: Annotated[
        str | None,
        typer.Option(metavar="STAGE", help="trace, optimized or loops; files are as they are."),
    ] = None,
    format: Format = "text",
) -> None:
    """Compare two programs up to the names of values; exit code 1 where they differ.

    Examples:
        autojit diff functions.py:loss functions.py:loss "f64[3]" "f64[10,3]"

    JSON:
        equal  whether they are the same program
        rows   a list of: mark, left, right
    """
    from autojit.cli.common.machine import check_format

    from . import diff as command

    check_format(format)

    pair = command.units(
        a, b, stage, lambda target: transformed_call(target, args, grad, transform, argnums)
    )
    if not command.show(a, b, *pair, format):
        raise typer.Exit(1)


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
    format: FormatOfFile = None,
    output: Output = None,
) -> None:
    """Run passes on a program's text, and print what they make of it.

    Examples:
        autojit dump functions.py:loss "f64[3]" "f64[10,3]" --stage trace -o loss.ir
        autojit opt loss.ir --passes simplify,dce
        autojit opt --list

    JSON:
        FILE    name, inputs, ops, outputs (of a program; loops have none)
        --list  a list of: name, level, does, needs
    """
    from autojit.cli.common.machine import check_format

    from . import passes as command

    format = format_of(format, output, ("text", "json"))
    check_format(format)
    if list:
        text = command.listed(format)
    elif file is None or not passes:
        raise Failure(
            "opt takes a program's text and passes: autojit opt program.ir --passes simplify,dce. "
            "autojit opt --list lists them"
        )
    else:
        text = command.opt(file, [name.strip() for name in passes.split(",")], format)
    give(text, output, is_code=format == "text", styles=LISTING if list else CODE)


@commands.command()
@reporting()
def coverage(
    namespaces: Annotated[
        list[str] | None, typer.Argument(metavar="NAMESPACE", help="numpy, scipy.special …")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run a sample call of each.")] = False,
    compiled: Annotated[bool, typer.Option("--compiled", help="Compile these, too.")] = False,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="text, json or markdown. [default: by FILE's ending, or text]"
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Say which functions of NumPy and SciPy take traced arrays.

    Examples:
        autojit coverage scipy.special
        autojit coverage numpy.fft --format json

    JSON:
        a list of: name, state; reason where it is not covered
    """
    from autojit.cli.coverage import report as command

    format = format_of(format, output, command.FORMATS)
    text = command.table(namespaces or [], run=run, compiled=compiled, format=format)
    give(text, output, is_code=False)
