"""Trees of arguments and results (pytrees), by optree.

Tuples, lists, dicts, namedtuples and ``None`` are nodes, and so are dataclasses
(registered when first met).  Everything else is a leaf.
"""

from __future__ import annotations

import array
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from numbers import Number
from operator import attrgetter
from types import CodeType, CoroutineType, GeneratorType
from typing import Any

import numpy as np
import optree

from autojit.codegen.cuda.arrays import DeviceArray
from autojit.errors import NotArrayError, with_place
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Source
from autojit.ir.core.types import Type
from autojit.session.devices import is_on_card
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import TracedArray, bare
from autojit.tracing.rows import Row
from autojit.tracing.running.arguments import Argument
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import SPECIAL, is_special_array

from . import labelled_arrays

NAMESPACE = "autojit"
#: Classes whose objects are trees of one array and represent it, with a function to get the array.
WRAPPERS: dict[type, Callable[[Any], Any]] = {}
#: Types of leaves that are known not to be dataclasses, for speed.
_COMMON = frozenset(
    {np.ndarray, np.float64, float, int, bool, complex, Tracer, Argument, Row, DeviceArray}
)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure."""
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    unknown = [leaf for leaf in leaves if type(leaf) not in _COMMON]
    if any(type(leaf) is TracedArray for leaf in unknown):
        leaves = bare(leaves)
    if any([_registered(leaf) for leaf in unknown]):
        return flatten(tree)
    return leaves, structure


def in_place_of_types(tree: Any) -> tuple[Any, bool]:
    """The tree with an array of zeros for each type (a ``Type``), and whether there is any.

    These arrays have one element in memory, whatever their shape.

    >>> from autojit.staging.pytrees import in_place_of_types
    >>> tree, found = in_place_of_types({"w": autojit.trace(np.sin)(np.ones(3)).in_types[0]})
    >>> tree["w"].shape, tree["w"].strides, found
    ((3,), (0,), True)
    """
    found = []

    def replaced(leaf: Any) -> Any:
        if not isinstance(leaf, Type):
            return leaf
        found.append(leaf)
        return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)

    def is_type(x: Any) -> bool:
        return isinstance(x, Type)

    made = optree.tree_map(replaced, tree, is_leaf=is_type, namespace=NAMESPACE)
    return (made, True) if found else (tree, False)


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree of a structure with the given leaves."""
    return optree.tree_unflatten(structure, leaves)


def is_one_array(structure: Any) -> bool:
    """Whether a tree is an array, or an object that stands for one."""
    return structure.num_leaves == 1 and (structure.is_leaf() or structure.type in WRAPPERS)


def arguments(structure: Any, leaves: Any) -> Any:
    """Unflatten arguments of the traced function, which may not change the containers
    (``containers.watched``)."""
    tree = unflatten(structure, leaves)
    trace = current_trace()
    assert trace is not None
    trace.rebuilt.append(tree)
    return tree


def _registered(leaf: Any) -> bool:
    """Whether an object is a node of a class that was not registered before."""
    if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
        _register_dataclass(leaf)
        return True
    if not labelled_arrays.register(type(leaf), NAMESPACE):
        return False
    if hasattr(leaf, "data"):  # a Dataset has none
        WRAPPERS[type(leaf)] = attrgetter("data")
    return True


def is_dataclass(x: Any) -> bool:
    """Whether x is an object of a dataclass, which is a node from now on."""
    if not dataclasses.is_dataclass(x) or isinstance(x, type):
        return False
    _register_dataclass(x)
    return True


def _register_dataclass(leaf: Any) -> None:
    kind = type(leaf)
    names = [f.name for f in dataclasses.fields(kind)]

    def rebuild(_: Any, children: Any) -> Any:
        made = object.__new__(kind)  # fields as they were: __init__ may check or convert
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    def take_apart(instance: Any) -> Any:
        return [getattr(instance, name) for name in names], None, names

    with contextlib.suppress(ValueError):  # another thread was faster
        optree.register_pytree_node(kind, take_apart, rebuild, namespace=NAMESPACE)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array or a number."""
    if isinstance(leaf, Tracer):
        return True
    kinds = (np.ndarray, np.generic, bool, int, float, complex)
    return (isinstance(leaf, kinds) and not is_special_array(leaf)) or is_on_device(leaf)


def is_on_device(leaf: Any) -> bool:
    """Whether a leaf is an array on a GPU (or numba's simulation of one)."""
    return is_on_card(leaf) or hasattr(type(leaf), "__cuda_ndarray__")


def paths(tree: Any, root: str) -> list[str]:
    """The user's code for each leaf: ``params['w'][0]``."""
    return [path.codify(root) for path in optree.tree_accessors(tree, namespace=NAMESPACE)]


def call_paths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The same for the leaves of ``(args, kwargs)``.

    >>> call_paths(({"w": 1.0}, 2.0), {"rate": 0.1})
    ["argument 0['w']", 'argument 1', "argument 'rate'"]
    """
    named = [*enumerate(args), *sorted(kwargs.items())]
    return [path for name, tree in named for path in paths(tree, f"argument {name!r}")]


def in_words(structure: Any) -> str:
    """A structure as a user may write it, with ``*`` for each array.

    >>> in_words(flatten((1.0, [2.0]))[1])
    '(*, [*])'
    """
    text = str(structure).removeprefix("PyTreeSpec(").removesuffix(")")
    return text.split(", NoneIsLeaf")[0].split(", namespace=")[0]


def _last_line(code: CodeType) -> int:
    """The line of the last ``return``."""
    import dis

    steps = [s for s in dis.get_instructions(code) if s.opname == "RETURN_VALUE" and s.positions]
    lines = [s.positions.lineno for s in steps if s.positions and s.positions.lineno]
    return max(lines, default=code.co_firstlineno)


def _place_of_return(function: Any) -> Source | None:
    code = getattr(function, "__code__", None)
    return None if code is None else Source(code.co_filename, _last_line(code), code.co_name)


def _checked_integer(number: int, function: Any) -> int:
    """A Python integer of a function's result; OverflowError if no dtype of NumPy's holds it."""
    if np.asarray(number).dtype.kind == "O":
        try:
            in_dtype(number, np.dtype(np.int64))
        except OverflowError as error:
            place = _place_of_return(function) or user_source()
            raise OverflowError(with_place(str(error), place)) from None
    return number


def check_result(leaf: Any, what: str, function: Any = None) -> Any:
    """A leaf of a traced function's result, or NotArrayError, with the line of the function."""
    is_part = function is not None and isinstance(leaf, Tracer) and leaf.is_bounded
    if is_array(leaf) and not is_part:
        return _checked_integer(leaf, function) if type(leaf) is int else leaf
    made = _place_of_return(function)
    if is_part:
        part: Any = leaf
        part.refuse_as(what, made)
    if hasattr(leaf, "tocoo"):
        words = f"{what} contains a sparse matrix. Return its entries, or the full array:"
        ways = "    return A.data\n    return A.toarray()"
        raise NotArrayError(with_place(f"{words}\n{ways}", made or user_source()))
    if isinstance(leaf, (GeneratorType, CoroutineType)):
        raise NotArrayError(
            with_place(
                f"{what} is a {type(leaf).__name__}, which computes nothing yet. Return all at "
                "once, without `yield` and `async`:\n"
                "    return [2 * v for v in x]          # not: for v in x: yield 2 * v",
                made or user_source(),
            )
        )
    code = (
        "    return loss                        # not: return {'day': day, 'loss': loss}\n"
        "    {'day': day, 'loss': jit(f)(x)}"
    )
    if any(isinstance(x, Tracer) for x in getattr(leaf, "__dict__", {}).values()):
        code += (
            "\nOr make its class a dataclass:\n"
            "    @dataclasses.dataclass             # and fields, no __init__\n"
            f"    class {type(leaf).__name__}: ..."
        )
    raise NotArrayError(
        with_place(
            f"{what} contains {_shown(leaf)} of type {type(leaf).__name__}. The result of a "
            "transformed function must be an array, a number, or tuples, lists, dicts or "
            "dataclasses of these. Return the numbers, and add the rest in the caller:\n"
            f"{code}",
            made or user_source(),
        )
    )


def check_argument(leaf: Any, path: str, keyword: str) -> Any:
    """A leaf of the arguments of a compiled function, or NotArrayError."""
    if is_array(leaf):
        return leaf
    if is_special_array(leaf):
        raise NotArrayError(f"{path}: " + SPECIAL.format(type(leaf).__name__))
    numbers = as_numbers(leaf)
    if numbers is not None:
        raise NotArrayError(
            f"{path} is {kind_of(leaf)}, which is not a NumPy array. Pass its numbers:\n"
            f"    {numbers}"
        )
    if hasattr(leaf, "tocoo"):
        raise NotArrayError(
            f"{path} is a sparse matrix ({type(leaf).__name__}). Let the function close over it, "
            "or pass its entries, and create it inside:\n"
            "    M = scipy.sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)"
        )
    raise NotArrayError(
        f"{path} is {_shown(leaf)} of type {type(leaf).__name__}, which is neither an array nor a "
        f"number. {_way_out(leaf, path, keyword.replace(ARGUMENT, _static_of(path)))}"
    )


def _way_out(leaf: Any, path: str, static: str) -> str:
    """What to write instead of a leaf that is not an array."""
    kind, (_, mark, key) = type(leaf).__name__, path.partition("[")
    if isinstance(leaf, (set, frozenset)):
        return "A set has no order. Pass a list:\n    sorted(x)"
    if isinstance(leaf, Iterator):
        return "An iterator is read once. Pass a list:\n    list(x)"
    if isinstance(leaf, (np.random.Generator, np.random.RandomState)):
        return (
            "A compiled function cannot draw from a generator. Draw outside, and pass the "
            "numbers:\n" + "    jit(f)(x, rng.normal(size=3))".ljust(39) + "# not: jit(f)(x, rng)"
        )
    if any(isinstance(x, float) or is_array(x) for x in getattr(leaf, "__dict__", {}).values()):
        return (
            "To compute with the numbers in it, make its class a dataclass, whose fields are "
            f"arguments then:\n    @dataclasses.dataclass             # and fields, no __init__\n"
            f"    class {kind}: ...\n"
            f"or make the argument static if it is a setting:\n    {static}"
        )
    if _FIELD.fullmatch(path):
        return (
            "Close over the object, and pass only its numbers:\n"
            "    jit(lambda w: f(dataclasses.replace(p, w=w)))(p.w)"
        )
    if mark and key[:1] in "'\"" and key.endswith("]"):
        name = key.strip("'\"]")
        return (
            "Keep settings apart from the numbers:\n"
            + f"    {name} = params.pop({name!r})".ljust(39)
            + "# and close over it"
            if name.isidentifier()
            else f"Keep settings apart from the numbers:\n    setting = params.pop({name!r})"
        )
    return f"Make the argument static if it is a setting:\n    {static}"


#: The path of a field of an object that is an argument.
_FIELD = re.compile(r"argument \S+\.\w+")
#: In code: the keyword that makes an argument static.
ARGUMENT = "static_argnums=..."


def _static_of(path: str) -> str:
    """The keyword for the argument at a path: ``argument 1['x']`` is argument 1."""
    found = re.match(r"argument (?:(\d+)|'(\w+)')", path)
    if found is None:
        return ARGUMENT
    return f"static_argnums={found[1]}" if found[1] else f"static_argnames={found[2]!r}"


def _shown(leaf: Any) -> str:
    """An object in words, without its address."""
    return re.sub(r" at 0x[0-9a-f]+", "", f"{leaf!r:.60}")


def kind_of(leaf: Any) -> str:
    """The type of an object in words, with its package.

    >>> import datetime
    >>> kind_of(datetime.date(2026, 1, 1)), kind_of(1)
    ('a datetime.date', 'an int')
    """
    package = type(leaf).__module__.partition(".")[0]
    name = type(leaf).__name__ if package == "builtins" else f"{package}.{type(leaf).__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def result_in_words(result: Any) -> str:
    """The result of a user's function, as an error names it.

    >>> result_in_words((1, 2)), result_in_words([]), result_in_words(1)
    ('a tuple of 2', 'a list of 0', 'an int')
    """
    if isinstance(result, Tracer):
        return f"a traced array of type {result.type}"
    count = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
    return kind_of(result) + count


def as_numbers(leaf: Any) -> str | None:
    """Code that converts an array or number of another library, or of Python, to NumPy's; None if
    there is none.

    >>> import datetime
    >>> as_numbers(datetime.datetime(2026, 1, 1)), as_numbers(memoryview(b"a")), as_numbers("a")
    ('x.timestamp()', 'np.asarray(x)', None)
    """
    for method in ("timestamp", "total_seconds"):  # of one date or duration
        if callable(getattr(leaf, method, None)):
            return f"x.{method}()"
    if isinstance(leaf, (memoryview, bytearray, array.array)):
        return "np.asarray(x)"
    if isinstance(leaf, Number):
        return "float(x)"
    if hasattr(leaf, "detach"):
        return "x.detach().cpu().numpy()"
    if hasattr(leaf, "to_numpy"):
        return "x.to_numpy()"
    if hasattr(leaf, "__array__") or hasattr(leaf, "__array_interface__"):
        return "np.asarray(x)"
    return "np.from_dlpack(x)" if hasattr(leaf, "__dlpack__") else None
