"""``autojit check``: derivatives against central differences."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from autojit import disable_jit
from autojit.cli.common.failures import FAULT, Failure, running
from autojit.cli.common.terminal import console, state_line
from autojit.testing import MODES, compare_grads


def check(
    f: Callable[..., Any],
    target: str,
    args: Sequence[Any],
    order: int,
    modes: str,
    seed: int,
    interpret: bool,
) -> None:
    """Print each comparison; the first that fails ends the command with code 1."""
    chosen = [mode.strip() for mode in modes.split(",")]
    if any(mode not in MODES for mode in chosen):
        raise Failure(f"--modes is fwd, rev or fwd,rev; got {modes!r}")
    out, made = console(), 0
    with running(target), disable_jit() if interpret else contextlib.nullcontext():
        for comparison in compare_grads(f, tuple(args), order, chosen, seed=seed):
            if not comparison.agrees:
                raise Failure(comparison.report(), FAULT)
            made += 1
            words = f"difference {comparison.error:.1e}, tolerance {comparison.tolerance:.1e}"
            state_line(out, "ok", comparison.name.removeprefix("derivative of "), words, 30)
    out.print(f"{target}: {made} derivatives agree with central differences", soft_wrap=True)
