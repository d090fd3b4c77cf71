"""Errors of C code and of libraries that are given traced values.

``Decimal(x)`` and ``json.dumps(x)`` look at the type of x and raise an error that the user's number
would not raise. A handler of the user's must not get such an error: it would take a way that Python
does not take. An error that numbers of the same types raise, too, is Python's own.
"""

from __future__ import annotations

import builtins
import dis
import types
from pathlib import Path
from typing import Any

from autojit.capture.rewriting.twins import is_twin_code
from autojit.capture.values.scalars import is_traced
from autojit.errors import AutojitError, ConcreteValueError, with_place
from autojit.protocols.way_out import error_for_numbers, way_out
from autojit.session.advice import AFTER_THE_CALL
from autojit.session.frames import is_installed, is_of_python, is_ours
from autojit.staging import pytrees
from autojit.tracing.created_arrays import bare
from autojit.tracing.known import at_hand, depends, lost_derivative
from autojit.tracing.source import user_source

#: The file of the functions that call code that autojit does not know.
_CALLING = str(Path(__file__).with_name("calling.py"))
#: Types whose methods change nothing.
_UNCHANGED = (
    str, bytes, int, float, complex, tuple, frozenset, range, slice, types.NoneType, bool,
)  # fmt: skip
#: Modules in C whose functions change nothing but their arguments.
_PURE = frozenset({
    "math", "cmath", "_operator", "itertools", "_bisect", "_heapq", "_struct", "_decimal", "_json",
    "_datetime", "_statistics", "binascii", "unicodedata",
})  # fmt: skip
#: Functions of Python that do more than compute their results.
_ACTS = frozenset({
    "open", "input", "exec", "eval", "compile", "print", "breakpoint", "setattr", "delattr",
    "__import__", "next",
})  # fmt: skip

_REFUSED = "{name} does not take traced values ({kind}: {words}). {advice}{instead}"


def raise_explained(
    error: Exception, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise another error in place of one that a call of f has raised, if that may be wrong."""
    if not _may_be_about_types(error, f):
        return
    given = [x for x in pytrees.flatten((args, kwargs))[0] if is_traced(x)]
    if not given:
        return
    theirs = error_for_numbers(f, args, kwargs) if _is_pure(f) else None
    if theirs is not None and type(theirs) is type(error):
        raise theirs from None
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    for x in map(bare, given):
        if at_hand(x) is not None and depends(x):
            raise lost_derivative(x, f"{name}()", f"Call {name}() on the result.") from error
    words = _REFUSED.format(
        name=f"{name}()", kind=type(error).__name__, words=str(error).rstrip("."),
        advice=AFTER_THE_CALL, instead=way_out(by_c=True),
    )  # fmt: skip
    raise ConcreteValueError(with_place(words, user_source())) from error


def _may_be_about_types(error: Exception, f: Any) -> bool:
    """Whether an error may say that C code, or a library, does not know the type of an argument."""
    kind = type(error)
    of_types = kind in (TypeError, AttributeError)
    if not of_types and (issubclass(kind, _OTHERS) or kind.__module__ == builtins.__name__):
        return False
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return False
    code = step.tb_frame.f_code
    file = code.co_filename
    if file == _CALLING:
        is_call = dis.opname[code.co_code[step.tb_lasti]].startswith("CALL")
        return is_call and not _is_in_python(f)
    if is_ours(file) or is_twin_code(code):
        return False
    return of_types and (is_installed(file) or is_of_python(file) or file.endswith(".pyx"))


#: Errors about something other than types. The modules of Python that are written in C have
#: classes of their own for errors about types, as `struct.error`.
_OTHERS = (ValueError, ArithmeticError, LookupError, AutojitError)


def _is_in_python(f: Any) -> bool:
    """Whether a function is written in Python, so that a call of it fails by itself only if the
    arguments do not fit its parameters."""
    steps: Any = (getattr(f, "__func__", f),)
    if isinstance(f, type):
        steps = vars(f).get("__new__"), vars(f).get("__init__")
    return any(isinstance(step, types.FunctionType) for step in steps)


def _is_pure(f: Any) -> bool:
    """Whether a function in C may be called twice."""
    if isinstance(f, type):
        return f.__module__ in ("builtins", "decimal", "datetime", "fractions", "collections")
    owner = getattr(f, "__self__", None)
    if isinstance(owner, types.ModuleType):
        name = owner.__name__
        return name in _PURE or (owner is builtins and f.__name__ not in _ACTS)
    return isinstance(f, types.BuiltinFunctionType) and isinstance(owner, _UNCHANGED)
