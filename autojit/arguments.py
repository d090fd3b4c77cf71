"""Errors about arguments of autojit's own functions, derived from their signatures.

:func:`named` checks arguments after a call has failed, so a good call costs nothing more.
:func:`checked` checks them before the call. It is for functions that only make an object, whose
settings are used later or never raise an error, such as ``maximize="yes"``.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from autojit.errors import AutojitError, SettingError, with_place
from autojit.session.calls_of_ours import refused_call
from autojit.session.tracebacks import explained, in_place_of, is_from_user
from autojit.staging.pytrees import flatten
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

P = ParamSpec("P")
R = TypeVar("R")


class Kind(NamedTuple):
    """A requirement on an argument: its words, and the check."""

    words: str
    fits: Callable[[Any], bool]


def named(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose errors name the wrong argument, unless the user's code raised them.

    >>> from autojit import nn
    >>> nn.elu(np.ones(3), alpha="wrong")
    Traceback (most recent call last):
    autojit.errors.SettingError: alpha of elu must be a number, not 'wrong'...
    """
    rules = _rules_of(function)

    def explain(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_from_user(error):
            return None
        refused = refused_call(function, error, kwargs)
        return refused or _said_of(function, rules, error, args, kwargs)

    return explained(function, explain)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose arguments are checked before the call.

    >>> from autojit import optim
    >>> optim.sgd(0.1, maximize="no")
    Traceback (most recent call last):
    autojit.errors.SettingError: maximize of sgd must be True or False, not 'no'...
    """
    rules, look, no_such_name = _rules_of(function), _wrong, refused_call

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if wrong := look(function, rules, args, kwargs, False):
            raise wrong
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if refused := no_such_name(function, error, kwargs):
                raise refused from None
            raise

    return named(in_place_of(function, call))


def _said_of(
    function: Callable[..., Any], rules: dict[str, _Rule], error: Exception,
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> SettingError | None:  # fmt: skip
    """The error that names the wrong argument of a failed call, unless ``error`` names it."""
    is_ours = isinstance(error, AutojitError) and not isinstance(error, SettingError)
    wrong = _wrong(function, rules, args, kwargs, not is_ours)
    if wrong is None:
        if type(error) is KeyError and "params" in rules:
            return SettingError(
                with_place(f"params of {function.__name__} has no {error}", user_source())
            )
        return None
    name = str(wrong).partition(" ")[0]
    has_name = re.search(rf"\b{name}\b", str(error).partition("\n")[0])
    return None if has_name and (is_ours or type(error) is ValueError) else wrong


def check_flag(value: Any, name: str, of: str) -> None:
    """Raise SettingError unless a value is True or False; a call would silently use any value."""
    if value.__class__ is not bool and not FLAG.fits(value):
        raise _refused(name, of, FLAG, value)


def check_whole(value: Any, name: str, of: str) -> None:
    """Raise SettingError unless a value is an integer."""
    if value.__class__ is not int and not _is_whole(value):
        raise _refused(name, of, _WHOLE, value)


def check_arrays(tree: Any, name: str, of: str) -> None:
    """Raise SettingError unless a value is an array, or a tree with at least one array."""
    if not (flatten(tree)[0] and _are_arrays(tree)):
        raise _refused(name, of, _ARRAYS, tree)


def check_mask(value: Any, name: str, of: str) -> None:
    """Raise SettingError unless a value is an array, or a list or a number in place of one.

    Anything else would count as true.
    """
    if not (_is_like_array(value) or isinstance(value, (list, tuple))):
        raise _refused(name, of, _ARRAY, value)


# -- kinds ---------------------------------------------------------------------------------


def _is_number(x: Any) -> bool:
    """Whether a value is a real number, or an array or traced value, which broadcasts."""
    if isinstance(x, (int, float)):
        return True
    if is_tracer(x) or hasattr(x, "dtype"):
        return _is_array(x)
    return hasattr(x, "__float__")


def _is_array(x: Any) -> bool:
    """Whether a value is an array of numbers: NumPy's, traced, or on a GPU."""
    dtype = getattr(x, "dtype", None)
    return is_tracer(x) or (hasattr(x, "shape") and getattr(dtype, "kind", "") not in "OSUMm")


def _is_like_array(x: Any) -> bool:
    """Whether a value is an array or a number, as a formula needs."""
    return _is_array(x) or _is_number(x) or isinstance(x, complex)


def _is_whole(x: Any) -> bool:
    try:
        operator.index(x)
    except TypeError:
        return is_tracer(x) and x.dtype.kind in "iu"
    return True


def _is_size(x: Any) -> bool:
    return _is_whole(x) and (is_tracer(x) or operator.index(x) >= 0)


def _are_sizes(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(_is_size(n) for n in x)


def _is_dtype(x: Any) -> bool:
    try:
        np.dtype(x)
    except (TypeError, ValueError):
        return False
    return True


def _is_seed(x: Any) -> bool:
    """Whether a value is a traced seed, or an argument that `numpy.random.default_rng` takes."""
    if x is None or is_tracer(x) or isinstance(x, (np.random.Generator, np.random.BitGenerator)):
        return True
    if isinstance(x, (np.random.SeedSequence, np.random.RandomState)):
        return True
    seeds = np.asarray(x) if isinstance(x, (int, np.generic, np.ndarray, list, tuple)) else None
    return seeds is not None and seeds.dtype.kind in "iu" and bool(np.all(seeds >= 0))


def _are_arrays(tree: Any) -> bool:
    return all(_is_like_array(leaf) for leaf in flatten(tree)[0])


def _is_pair(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and len(x) == 2 and all(_is_number(n) for n in x)


def _is_two_arrays(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and len(x) == 2 and all(_is_array(a) for a in x)


FLAG = Kind("True or False", lambda x: isinstance(x, np.bool_) or (_is_whole(x) and x in (0, 1)))
_NUMBER = Kind("a number", _is_number)
_ARRAY = Kind("an array of numbers", _is_array)
_WHOLE = Kind("an integer", _is_whole)
_SIZE = Kind("a non-negative integer", _is_size)
_ARRAYS = Kind("an array or a tree of arrays", _are_arrays)
_EXTENTS = Kind(
    "a non-negative integer, or a tuple of them",
    lambda x: _is_size(x) or _are_sizes(x),
)
_FUNCTION = Kind("a function", callable)
_RATE = Kind("a number or a schedule", lambda x: callable(x) or _is_number(x))
_LAYERS = Kind("a list of layers' parameters", lambda x: isinstance(x, (tuple, list)))

#: The requirements by the annotation of a parameter.
_BY_ANNOTATION = {
    "bool": FLAG, "int": _SIZE, "float": _NUMBER, "Rate": _RATE,
    "str": Kind("a string", lambda x: isinstance(x, str)),
    "Shape": _EXTENTS, "int | tuple[int, ...]": _EXTENTS, "int | tuple[int, int]": _EXTENTS,
    "tuple[int, ...]": _EXTENTS, "Sequence[int]": Kind("a list of integers", _are_sizes),
    "tuple[float, float]": Kind("a pair of numbers", _is_pair),
    "Schedule": _FUNCTION, "Objective": _FUNCTION, "Callable[[Any], Any]": _FUNCTION,
    "Layer | Callable[[Any], Any]": Kind(
        "a layer or a function", lambda x: callable(x) or hasattr(x, "apply")
    ),
    "Mapping[str, Any]": Kind("a dict of arrays", lambda x: isinstance(x, Mapping)),
    "tuple[Any, Any]": Kind("a pair of arrays", _is_two_arrays),
    "Sequence[Params]": _LAYERS, "Sequence[Any]": _LAYERS,
}  # fmt: skip
#: The requirements by the name of a parameter that takes any type; a name means the same in all
#: functions.
_BY_NAME = {
    **dict.fromkeys(("axis", "padding_idx", "ignore_index"), _WHOLE),
    **dict.fromkeys(("stride", "dilation", "kernel_size", "output_padding"), _EXTENTS),
    "padding": Kind(
        "a non-negative integer, a tuple of them, 'valid' or 'same'",
        lambda x: x in ("valid", "same") if isinstance(x, str) else _EXTENTS.fits(x),
    ),
    "activation": _FUNCTION, "tree": _ARRAYS,
    "dtype": Kind("a dtype", _is_dtype),
    "rng": Kind("a Generator or a seed (a non-negative integer)", _is_seed),
    **dict.fromkeys(
        ("x", "weight", "bias", "target", "indices", "labels", "mask", "attn_mask", "query", "key",
         "value", "running_mean", "running_var", "pos_weight", "arrays", "state"), _ARRAY,
    ),
}  # fmt: skip


# -- the signature ---------------------------------------------------------------------------


class _Rule(NamedTuple):
    kind: Kind
    takes_none: bool
    is_many: bool


def _rules_of(function: Callable[..., Any]) -> dict[str, _Rule]:
    """The requirement on each parameter; other parameters are not checked."""
    rules = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = str(parameter.annotation)
        plain = annotation.removesuffix(" | None")
        kind = _BY_ANNOTATION.get(plain)
        if kind is None or (kind is _SIZE and name in _BY_NAME):
            kind = _BY_NAME.get(name)
        if kind is not None:
            takes_none = plain != annotation or parameter.default is None
            rules[name] = _Rule(kind, takes_none, parameter.kind is parameter.VAR_POSITIONAL)
    return rules


def _wrong(
    function: Callable[..., Any], rules: dict[str, _Rule], args: tuple[Any, ...],
    kwargs: dict[str, Any], is_foreign: bool,
) -> SettingError | None:  # fmt: skip
    """The error about the first argument that violates its requirement.

    A number may replace an array wherever a formula allows it, so it is named only if no other
    argument is wrong and the call has failed with an error that is not autojit's.
    """
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # Python's own message is about the names and the count
        return None
    numbers = []
    for name, whole in given.items():
        if name not in rules:
            continue
        kind, takes_none, is_many = rules[name]
        for value in whole if is_many else (whole,):
            if (value is None and takes_none) or kind.fits(value):
                continue
            if kind is _ARRAY and _is_like_array(value):
                numbers.append((name, value))
            else:
                return _refused(name, _called(function), kind, value)
    if numbers and is_foreign:
        name, value = numbers[0]
        return _refused(name, _called(function), _ARRAY, value)
    return None


def _called(function: Callable[..., Any]) -> str:
    """The object that the user calls: a function, or the class for ``__init__``."""
    return function.__qualname__.removesuffix(".__init__")


def _refused(name: str, of: str, kind: Kind, value: Any) -> SettingError:
    shown = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"{value!r:.60}"
    words = f"{name} of {of} must be {kind.words}, not {shown}"
    if kind is _ARRAY and isinstance(value, (list, tuple)):
        words += f": np.asarray({name})"
    return SettingError(with_place(words, user_source()))
