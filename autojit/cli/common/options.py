"""Options and arguments that several commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .failures import Failure

# So that -1.5 is an argument; what looks like an option and is none is refused by `parse_argument`.
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}

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
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a file.")
]


def parsed(
    args: Sequence[str] | None, seed: int = 0, low: float = 0.0, high: float = 1.0
) -> list[Any]:
    import numpy as np

    from .arguments import fill, parse_argument

    rng = np.random.default_rng(seed)
    return [fill(parse_argument(text), rng, low, high) for text in args or ()]


def call(
    target: str,
    args: Sequence[str] | None,
    seed: int = 0,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[Callable[..., Any], list[Any]]:
    """The function and its arguments; the arguments are read first, as that is quick."""
    from .targets import check_call, load

    values = parsed(args, seed, low, high)
    f = load(target)
    check_call(f, target, values)
    return f, values


def transformed_call(
    target: str, args: Sequence[str] | None, grad: bool, transform: str | None, argnums: str
) -> tuple[Callable[..., Any], list[Any]]:
    """The function with what is applied to it, and its arguments."""
    from .targets import parse_argnums, transformed

    if grad and transform is not None:
        raise Failure("give --grad or --transform, not both")
    f, values = call(target, args)
    names = "grad" if grad else transform
    return (transformed(f, names, parse_argnums(argnums)) if names else f), values
