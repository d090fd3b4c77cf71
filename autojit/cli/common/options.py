"""Options and arguments shared by several commands, and the values they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .failures import Failure
from .terminal import check_output

# Lets -1.5 be an argument; `parse_argument` rejects unknown options.
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}

Target = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="path/to/file.py:function or package.module:function."),
]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ARG",
        help='Its arguments: types ("f64[100,3]", f64[] for a number), literals (3.0, '
        '"[1, 2]", "{\'w\': f64[3]}"), words (adam), files (@x.npy), name=value. '
        "More: autojit --help.",
    ),
]
Argnums = Annotated[
    str, typer.Option(metavar="N[,N]", help="Arguments to differentiate by: 0 or 0,1 or w,x.")
]
Grad = Annotated[bool, typer.Option("--grad", help="Same as --transform grad.")]
Transform = Annotated[
    str | None, typer.Option(metavar="NAMES", help='Such as "value_and_grad", "jit(grad)".')
]
Format = Annotated[str, typer.Option(metavar="FORMAT", help="text or json.")]
FormatOfFile = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="text or json. [default: by FILE's ending, or text]"),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random arrays.")]
Low = Annotated[float, typer.Option(metavar="X", help="Random numbers start here.")]
High = Annotated[float, typer.Option(metavar="X", help="Random numbers end here.")]
Interpret = Annotated[bool, typer.Option("--interpret", help="Compile nothing: run op by op.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write a file.", callback=check_output),
]


#: Formats for file endings that differ from the format's name.
_ENDINGS = {".htm": "html", ".md": "markdown", ".gv": "dot"}


def format_of(format: str | None, output: Path | None, known: Sequence[str]) -> str:
    """The requested format: by name, or else by the ending of the file.

    >>> format_of(None, Path("loss.svg"), ["text", "svg"]), format_of(None, None, ["text"])
    ('svg', 'text')
    """
    if format is not None or output is None:
        return format or "text"
    ending = output.suffix.lower()
    found = _ENDINGS.get(ending, ending[1:])
    return found if found in known else "text"


def check_range(option: str, value: float, least: float, most: float) -> None:
    """Raise unless a number is within its limits."""
    if not least <= value <= most:
        raise Failure(f"{option} is a number from {least} to {most}; got {value}")


def parsed(
    args: Sequence[str] | None, seed: int = 0, low: float = 0.0, high: float = 1.0
) -> list[Any]:
    """The arguments of a program, which have no names."""
    values, keywords = read_arguments(args, seed, low, high)
    if keywords:
        name = next(iter(keywords))
        raise Failure(f"the arguments of a program have no names; pass {name} by position")
    return values


def read_arguments(
    args: Sequence[str] | None, seed: int, low: float, high: float
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments; types become random arrays."""
    import numpy as np

    from .arguments import fill, keyword_of, parse_argument

    rng = np.random.default_rng(seed)
    values: list[Any] = []
    keywords: dict[str, Any] = {}
    for text in args or ():
        name, body = keyword_of(text)
        try:
            value = fill(parse_argument(body), rng, low, high)
        except (MemoryError, ValueError) as error:  # show NumPy's message about the size or limits
            raise Failure(f"argument {text!r}: {str(error)[:1].lower()}{str(error)[1:]}") from None
        if name is None and keywords:
            raise Failure(
                f"argument {text!r} has no name, but follows one that has; move it before that"
            )
        if name is None:
            values.append(value)
        elif name in keywords:
            raise Failure(f"argument {name} is given twice")
        else:
            keywords[name] = value
    return values, keywords


def call(
    target: str,
    args: Sequence[str] | None,
    seed: int = 0,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[Callable[..., Any], list[Any]]:
    """The function and its arguments; the arguments are read first, since that is fast."""
    from .calls import by_position
    from .targets import load

    values, keywords = read_arguments(args, seed, low, high)
    return by_position(load(target), target, values, keywords)


def transformed_call(
    target: str, args: Sequence[str] | None, grad: bool, transform: str | None, argnums: str
) -> tuple[Callable[..., Any], list[Any]]:
    """The function after the transformations, and its arguments."""
    f, derived, values = both_calls(target, args, grad, transform, argnums)
    return derived or f, values


def both_calls(
    target: str, args: Sequence[str] | None, grad: bool, transform: str | None, argnums: str
) -> tuple[Callable[..., Any], Callable[..., Any] | None, list[Any]]:
    """The function, the transformed function or None, and the arguments."""
    from .targets import check_argnums, parse_argnums, transformed, uses_argnums

    if grad and transform is not None:
        raise Failure("give --grad or --transform, not both")
    f, values = call(target, args)
    names = "grad" if grad else transform
    positions = parse_argnums(argnums, f)
    if names is None:
        return f, None, values
    if uses_argnums(names):
        check_argnums(positions, values)
    return f, transformed(f, names, positions), values
