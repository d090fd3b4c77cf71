"""Explains calls of our functions that Python refuses: unknown keywords, too many arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from autojit.errors import SettingError
from autojit.spelling import closest

#: Keywords that functions called `jit` or `grad` have elsewhere, and their meaning here.
_ELSEWHERE = {
    "nopython": "Numba's; all of a function is compiled here",
    "parallel": "Numba's; loops run on all cores here where that pays",
    "fastmath": "Numba's; it does not exist here, because results agree with NumPy's",
    "cache": "Numba's; compiled code is always kept on disk here",
    "nogil": "Numba's; compiled code lets other threads run here",
    "forceobj": "Numba's; all of a function is compiled here",
    "error_model": "Numba's; errors are NumPy's here",
    "boundscheck": "Numba's; indices are always checked here",
    "inline": "JAX's and Numba's; there is no such choice here",
    "backend": "JAX's and PyTorch's; here it is device='cpu' or device='cuda'",
    "keep_unused": "JAX's; there is no such choice here",
    "donate_argnames": "JAX's; inputs are never written to here",
    "in_shardings": "JAX's; there is one device here",
    "out_shardings": "JAX's; there is one device here",
    "fullgraph": "PyTorch's; all of a function is compiled here",
    "dynamic": "PyTorch's; each signature is compiled separately here",
    "mode": "PyTorch's; there is no such choice here",
    "allow_int": "JAX's; convert the argument instead: x.astype(float)",
    "reduce_axes": "JAX's; there is no such choice here",
    "axis_name": "JAX's; there are no named axes here",
    "axis_size": "JAX's; give vmap an argument with the axis",
    "spmd_axis_name": "JAX's; there are no named axes here",
    "create_graph": "PyTorch's; derivatives nest here: grad(grad(f))",
    "retain_graph": "PyTorch's; there is no graph to keep here",
}


def refused_call(
    function: Callable[..., Any], error: Exception, kwargs: dict[str, Any]
) -> SettingError | None:
    """An error that says more than Python's, if a call did not even enter our function."""
    if type(error) is not TypeError or error.__traceback__ is None:
        return None
    if error.__traceback__.tb_next is not None:
        return None
    names = list(inspect.signature(function).parameters)
    wrong = [name for name in kwargs if name not in names]
    if not wrong:
        return _too_many(function, error, names)
    name = wrong[0]
    words = f"{function.__name__} has no argument {name!r}."
    if name in _ELSEWHERE:
        words += f" That is {_ELSEWHERE[name]}. Leave it out:\n    {function.__name__}(f)"
    else:
        words += closest(name, names)
    listed = ", ".join(n for n in names if n not in kwargs)
    return SettingError(f"{words}\nIts arguments: {listed}")


def _too_many(
    function: Callable[..., Any], error: Exception, names: list[str]
) -> SettingError | None:
    """The error for arguments of the user's function, or settings, that are given by position."""
    if names[:1] != ["f"] or "positional argument" not in str(error) or "missing" in str(error):
        return None
    name = function.__name__
    settings = f", and its settings by name: {', '.join(names[1:])}" if names[1:] else ""
    return SettingError(
        f"{name} takes a function{settings}. The arguments of the function go into a second pair "
        "of brackets:\n" + f"    {name}(f)(x)".ljust(38) + f" # not: {name}(f, x)"
    )
