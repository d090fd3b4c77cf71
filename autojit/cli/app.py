"""The commands and their options; each does its work in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .failures import Failure
from .terminal import reporting

app = typer.Typer(
    name="autojit",
    help="Write NumPy, get compiled gradients: look at, check and time your functions.",
    epilog="TARGET is path/to/file.py:function or package.module:function. "
    "ARG is a type (f64[100,3], f32[], i64[5]), a literal (3.0, [1.0, 2.0]) "
    "or a tuple or dict of these.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# So that -1.5 is an argument; what looks like an option and is none is refused by `parse_argument`.
_NEGATIVE_NUMBERS = {"ignore_unknown_options": True}

Target = Annotated[str, typer.Argument(metavar="TARGET", help="file.py:function")]
Arguments = Annotated[list[str] | None, typer.Argument(metavar="ARG", help="types or literals")]
Argnums = Annotated[
    str, typer.Option(metavar="N[,N]", help="Arguments to differentiate by: 0 or 0,1.")
]
Grad = Annotated[bool, typer.Option("--grad", help="Same as --transform grad.")]
Transform = Annotated[
    str | None, typer.Option(metavar="NAMES", help='Such as "value_and_grad", "jit(grad)".')
]
Format = Annotated[str, typer.Option(metavar="FORMAT", help="text or json.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random arrays.")]
Low = Annotated[float, typer.Option(metavar="X", help="Random numbers start here.")]
High = Annotated[float, typer.Option(metavar="X", help="Random numbers end here.")]
Interpret = Annotated[bool, typer.Option("--interpret", help="Compile nothing.")]


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from autojit import __version__

        typer.echo(f"autojit {__version__}")
        raise typer.Exit


@app.command(context_settings=_NEGATIVE_NUMBERS)
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
            help="text, or json (--passes, --remarks; stages trace and optimized).",
        ),
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a file.")
    ] = None,
) -> None:
    """Print a function at each stage of its compilation."""
    from . import dump as command

    what = command.Choice(stage, passes, print_after, remarks, format)
    what.check()
    f, values = _transformed_call(target, args, grad, transform, argnums)
    command.dump(f, values, what, output)


@app.command(context_settings=_NEGATIVE_NUMBERS)
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

    f, values = _call(target, args, seed, low, high)
    command.check(f, target, values, order, modes, seed, interpret)


@app.command(context_settings=_NEGATIVE_NUMBERS)
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

    command.run(file, _parsed(args, seed, low, high), seed, low, high, interpret)


@app.command()
@reporting()
def opt(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="a program's text, or -")
    ] = None,
    passes: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Passes to run, in order: cse,dce.")
    ] = None,
    list: Annotated[bool, typer.Option("--list", help="List the passes.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a file.")
    ] = None,
) -> None:
    """Run passes on a program's text, and print what they make of it."""
    from . import passes as command
    from .terminal import give

    if list:
        give(command.listed(), output)
    elif file is None or not passes:
        raise Failure(
            "opt takes a program's text and passes: autojit opt program.ir --passes simplify,dce. "
            "autojit opt --list lists them"
        )
    else:
        give(command.opt(file, [name.strip() for name in passes.split(",")]), output)


@app.command(context_settings=_NEGATIVE_NUMBERS)
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
    from . import bench as command
    from .targets import parse_argnums

    f, values = _call(target, args, seed, low, high)
    command.bench(f, target, values, parse_argnums(argnums), seconds)


@app.command()
@reporting()
def doctor() -> None:
    """Run each part that autojit needs; say what works."""
    from . import doctor as command

    if not command.doctor():
        raise typer.Exit(1)


@app.command()
@reporting()
def coverage(
    namespaces: Annotated[
        list[str] | None, typer.Argument(metavar="NAMESPACE", help="numpy, scipy.special …")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run a sample call of each.")] = False,
    compiled: Annotated[bool, typer.Option("--compiled", help="Compile these, too.")] = False,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, json or markdown.")] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a file.")
    ] = None,
) -> None:
    """Say which functions of NumPy and SciPy take traced arrays."""
    from .coverage import report as command
    from .terminal import give

    try:
        text = command.table(namespaces or [], run=run, compiled=compiled, format=format)
    except ValueError as error:
        raise Failure(str(error)) from None
    give(text, output)


cache = typer.Typer(
    help="Look at the compiled code that is kept on disk, or remove it.", no_args_is_help=True
)
app.add_typer(cache, name="cache")


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


@cache.command(context_settings=_NEGATIVE_NUMBERS)
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
    f, values = _transformed_call(target, args, grad, transform, argnums)
    command.why(f, target, values, format)


def _parsed(
    args: Sequence[str] | None, seed: int = 0, low: float = 0.0, high: float = 1.0
) -> list[Any]:
    import numpy as np

    from .arguments import fill, parse_argument

    rng = np.random.default_rng(seed)
    return [fill(parse_argument(text), rng, low, high) for text in args or ()]


def _call(
    target: str,
    args: Sequence[str] | None,
    seed: int = 0,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[Callable[..., Any], list[Any]]:
    """The function and its arguments; the arguments are read first, as that is quick."""
    from .targets import check_call, load

    values = _parsed(args, seed, low, high)
    f = load(target)
    check_call(f, target, values)
    return f, values


def _transformed_call(
    target: str, args: Sequence[str] | None, grad: bool, transform: str | None, argnums: str
) -> tuple[Callable[..., Any], list[Any]]:
    """The function with what is applied to it, and its arguments."""
    from .targets import parse_argnums, transformed

    if grad and transform is not None:
        raise Failure("give --grad or --transform, not both")
    f, values = _call(target, args)
    names = "grad" if grad else transform
    return (transformed(f, names, parse_argnums(argnums)) if names else f), values
