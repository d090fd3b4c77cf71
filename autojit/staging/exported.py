"""``autojit.source``: a function, or its derivative, as self-contained source code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import optree

from autojit.codegen.export.text.interface import RESERVED, Interface
from autojit.codegen.export.text.names import identifier
from autojit.errors import AutojitError
from autojit.session.tracebacks import folded

from . import pytrees
from .execute import target_errors
from .settings import need_function
from .shown import Text
from .trace_function import Traced, argument_type, trace_function
from .transformed import Transformed

TARGETS = ("numpy", "numba", "c")


@folded
def source(f: Callable[..., Any], *args: Any, target: str = "numpy", name: str = "") -> str:
    """Source code of a module that computes ``f`` without autojit.

    Args:
        f: a function of arrays, or trees of arrays; it may be transformed, as in ``grad(f)``.
        *args: arrays of the shapes and dtypes that the module is for; their values do not matter.
        target: ``"numpy"``: a statement for each of the user's statements, with the user's names;
            ``"numba"``: the compiled loops, as an ``@njit`` function; ``"c"``: the loops in C99.
        name: the name of the module's function; by default the name of ``f`` and its
            transformations, such as ``loss_grad``.

    Returns:
        The text of the module. The user's lines are comments above the code that comes from them.
        Its function has the parameters of ``f``, and checks their shapes. Dataclasses and named
        tuples among the results become plain tuples.

    Raises:
        AutojitError: if there is no such target.
        UnsupportedTargetError: if an operation cannot be written for it (a ``pure_callback``).

    >>> import numpy as np
    >>> from autojit import grad, source
    >>> def loss(w):
    ...     return np.sum(w**3)
    >>> print(source(grad(loss), np.ones(4)).partition("def loss_grad")[2])
    (w):
        \"\"\"The gradient of loss by w.
    <BLANKLINE>
        w: float64[4]
        Returns float64[4].
        \"\"\"
        w = _array(w, np.float64, (4,))
    <BLANKLINE>
        # line 2: return np.sum(w**3)
        d_w = 3.0 * (w * w)
    <BLANKLINE>
        return d_w
    <BLANKLINE>
    """
    need_function(f, "source")
    if target not in TARGETS:
        raise AutojitError(f"target must be one of {', '.join(TARGETS)}; got {target!r}")
    from autojit.codegen.export.modules import module

    traced = _traced(f, args)
    interface = _interface(f, args, traced, name)
    with target_errors():
        text = module(traced.program, interface, target)
    return Text(text, "program" if target == "c" else "python")


def _traced(f: Callable[..., Any], args: tuple[Any, ...]) -> Traced:
    leaves, structure = pytrees.flatten(args)
    for leaf, path in zip(leaves, pytrees.call_paths(args, {}), strict=True):
        pytrees.check_argument(leaf, path, "autojit.source(lambda x: f(x, setting), x)")

    def call(function: Callable[..., Any], values: Any) -> Any:
        return function(*pytrees.arguments(structure, values))

    types = [argument_type(leaf) for leaf in leaves]
    return trace_function(f, types, call, lambda: pytrees.call_paths(args, {}))


# -- what it looks like from outside -----------------------------------------------------


def _interface(f: Any, args: tuple[Any, ...], traced: Traced, name: str) -> Interface:
    parameters = _parameters(f, args)
    inputs = [p for n, a in zip(parameters, args, strict=True) for p in pytrees.paths(a, n)]
    made = _transformations(f)
    words = [each for each, _ in made if each != "jit"][::-1]
    own = identifier(traced.program.name)
    count = len(traced.program.outputs)
    results = _nest(pytrees.unflatten(traced.structure, list(range(count))))
    return Interface(
        name=name or "_".join([own, *words]),
        title=_title(own, made, parameters),
        parameters=tuple(parameters),
        inputs=tuple(inputs),
        captured=tuple(_captured_names(f, traced.program.captured)),
        results=results,
        outputs=tuple(_output_names(made, parameters, args, count)),
    )


def _parameters(f: Any, args: tuple[Any, ...]) -> list[str]:
    """Names for the positional arguments, taken from the function where it has them."""
    found: list[str] = []
    try:
        for p in inspect.signature(f).parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                found.append(identifier(p.name))
            elif p.kind is p.VAR_POSITIONAL:
                found += [f"{identifier(p.name)}_{k}" for k in range(len(found), len(args))]
    except (TypeError, ValueError):
        pass
    found += [f"x_{k}" for k in range(len(found), len(args))]
    return [f"{name}_" if name in RESERVED else name for name in found[: len(args)]]


def _transformations(f: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """The transformations of a function, outermost first, with their settings."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    while True:
        if isinstance(f, Transformed):
            transform, f, settings = f.made_of
            found.append((transform.__name__, settings))
        elif hasattr(f, "lower") and hasattr(f, "__wrapped__"):  # a compiled function
            f = f.__wrapped__
            found.append(("jit", {}))
        else:
            return found


_TITLES = {
    "grad": "The gradient of {}", "value_and_grad": "The value of {} and its gradient",
    "hessian": "The Hessian of {}", "jacrev": "The Jacobian of {}",
    "jacfwd": "The Jacobian of {}", "vmap": "{} of each element of a batch",
}  # fmt: skip


def _title(name: str, made: list[tuple[str, Mapping[str, Any]]], parameters: list[str]) -> str:
    title = name
    for word, settings in reversed(made):
        if word == "jit":
            continue
        title = _TITLES.get(word, f"{word} of {{}}").format(title)
        title += " by " + " and ".join(_by(settings, parameters)) if "argnums" in settings else ""
    return f"{title}."


def _by(settings: Mapping[str, Any], parameters: list[str]) -> list[str]:
    argnums = settings["argnums"]
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    return [parameters[n] if -len(parameters) <= n < len(parameters) else str(n) for n in numbers]


def _output_names(
    made: list[tuple[str, Mapping[str, Any]]], parameters: list[str], args: tuple[Any, ...],
    count: int,
) -> list[str]:  # fmt: skip
    """``d_w`` for the gradients by an argument's leaves, if the outermost transformation is a
    gradient."""
    kinds = [(word, settings) for word, settings in made if word != "jit"]
    names: list[str] = []
    if kinds and kinds[0][0] in ("grad", "value_and_grad") and not kinds[0][1]["has_aux"]:
        argnums = kinds[0][1]["argnums"]
        wanted = [argnums] if isinstance(argnums, int) else list(argnums)
        trees = [(parameters[n], args[n]) for n in wanted]
        names = [f"d_{identifier(p)}" for n, a in trees for p in pytrees.paths(a, n)]
        if kinds[0][0] == "value_and_grad":
            names.insert(0, "value")
    if len(names) == count:
        return names
    return ["result"] if count == 1 else [f"result_{k}" for k in range(1, count + 1)]


def _nest(tree: Any) -> Any:
    """A tree of numbers, with tuples instead of nodes other than lists and dicts."""
    if isinstance(tree, (int, type(None))):
        return tree
    if isinstance(tree, dict):
        return {key: _nest(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_nest(value) for value in tree]
    if type(tree) is tuple:
        return tuple(_nest(value) for value in tree)
    children = optree.tree_flatten_one_level(tree, namespace=pytrees.NAMESPACE).children
    return tuple(_nest(child) for child in children)


def _captured_names(f: Any, captured: tuple[Any, ...]) -> list[str]:
    """The function's names for the arrays that it closes over."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = getattr(f, "__code__", None)
    known: dict[str, Any] = {}
    if code is not None:
        found = getattr(f, "__globals__", {})
        known = {n: found[n] for n in code.co_names if n in found}
        cells = zip(code.co_freevars, getattr(f, "__closure__", None) or (), strict=False)
        for name, cell in cells:
            known[name] = getattr(cell, "cell_contents", None)
    return [
        next((name for name, value in known.items() if _is(value, array)), "constant")
        for array in captured
    ]


def _is(value: Any, array: Any) -> bool:
    """Whether a user's array is the one seen by a trace, which may be a copy."""
    if not isinstance(value, np.ndarray):
        return False
    array = np.asarray(array)
    same = value.shape == array.shape and value.dtype == array.dtype
    return same and (value is array or value.tobytes() == array.tobytes())
