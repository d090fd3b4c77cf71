"""``autojit check``: compares derivatives with central differences."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from autojit import disable_jit
from autojit.cli.common.failures import FAULT, Failure, running
from autojit.cli.common.machine import give_json
from autojit.cli.common.terminal import console, say, state_line
from autojit.session.progress import stage
from autojit.spelling import closest
from autojit.validation.comparisons import MODES, Comparison, compare_grads


def check(
    f: Callable[..., Any],
    target: str,
    args: Sequence[Any],
    order: int,
    modes: str,
    seed: int,
    interpret: bool,
    format: str = "text",
) -> None:
    """Print each comparison; the first failure ends the command with code 1."""
    chosen = [mode.strip() for mode in modes.split(",")]
    if any(mode not in MODES for mode in chosen):
        wrong = next(mode for mode in chosen if mode not in MODES)
        raise Failure(f"--modes is fwd, rev or fwd,rev; got {modes!r}.{closest(wrong, MODES)}")
    made: list[Comparison] = []
    g, arrays = _without_settings(f, args)
    with (
        running(target),
        disable_jit() if interpret else contextlib.nullcontext(),
        stage("checking", target, lambda: 0),
    ):
        for comparison in compare_grads(g, tuple(arrays), order, chosen, seed=seed):
            made.append(comparison)
            if not comparison.agrees:
                break
            if format == "text":
                words = f"difference {comparison.error:.1e}, tolerance {comparison.tolerance:.1e}"
                state_line(console(), "ok", _name(comparison), words, 30)
    _conclude(target, made, format)


def _conclude(target: str, made: Sequence[Comparison], format: str) -> None:
    agrees = all(comparison.agrees for comparison in made)
    if format == "json":
        rows = [_object(comparison) for comparison in made]
        give_json({"target": target, "agrees": agrees, "derivatives": rows})
    if not agrees:
        raise Failure(made[-1].report(), FAULT)
    if format == "text":
        words = f"{target}: {len(made)} derivatives agree with central differences"
        say(words)


def _object(comparison: Comparison) -> dict[str, Any]:
    return {
        "name": _name(comparison),
        "agrees": comparison.agrees,
        "exact": comparison.exact,
        "numeric": comparison.numeric,
        "error": comparison.error,
        "tolerance": comparison.tolerance,
    }


def _name(comparison: Comparison) -> str:
    return comparison.name.removeprefix("derivative of ")


def _without_settings(
    f: Callable[..., Any], args: Sequence[Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the differentiable arguments only: strings and ranges are bound."""
    places = [k for k, arg in enumerate(args) if not isinstance(arg, (str, range))]
    if len(places) == len(args):
        return f, list(args)

    def of_the_rest(*rest: Any) -> Any:
        every = list(args)
        for k, value in zip(places, rest, strict=True):
            every[k] = value
        return f(*every)

    of_the_rest.__name__ = getattr(f, "__name__", "main")
    return of_the_rest, [args[k] for k in places]
