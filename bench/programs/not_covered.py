"""Calls that authors of such programs use and autojit does not cover yet, with their messages.

`python -m bench.programs.not_covered` prints the list in README.md. A call that runs without an
error is covered by now, and must be removed from the list.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import numpy as np

X = np.array([0.7, 1.3, 2.1, 0.4])
M = np.eye(4) + 0.1 * np.arange(16.0).reshape(4, 4)


#: The source of each call, the programs that use it, and a function that makes it.
TEXTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "scipy.spatial.transform.Rotation.from_rotvec(x)": (
        "cameras", lambda x: resolve_name("scipy.spatial.transform.Rotation").from_rotvec(
            x[:3]).as_matrix()),
    "scipy.integrate.solve_ivp(f, …)": (
        "kinetics (autojit.ode has it)", lambda x: resolve_name("scipy.integrate.solve_ivp")(
            lambda t, y: -x[0] * y, (0, 1), [1.0]).y),
    "scipy.sparse.csgraph.shortest_path(m)": (
        "networks", lambda x: resolve_name("scipy.sparse.csgraph.shortest_path")(M * x[0])),
    "np.ma.masked_array(x, mask)": (
        "missing data", lambda x: np.ma.masked_array(x, [0, 1, 0, 0]).sum()),
    "np.lib.stride_tricks.as_strided(x, …)": (
        "windows (sliding_window_view is covered)",
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))),
}  # fmt: skip


def message(text: Callable[[Any], Any]) -> str | None:
    """The first line of the error of a gradient; None if there is no error."""
    import autojit

    text(X)  # NumPy and SciPy take it
    try:
        autojit.jit(autojit.grad(lambda x: np.sum(text(x))))(X)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    for title, (who, text) in TEXTS.items():
        print(f"| `{title}` | {who} | {message(text) or 'covered by now: take it off the list'} |")


if __name__ == "__main__":
    main()
