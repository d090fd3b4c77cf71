"""Advice for when Python itself refuses a traced value or a keyword."""

from __future__ import annotations

import re

_TRACED = "'?(?:Argument|Tracer|TracedArray|FreshArray)'?"
_UNHASHABLE = re.compile(f"unhashable type: {_TRACED}")
_NO_KEY = (
    "A traced value cannot be a key of a dict or a member of a set: its number is not known while "
    "the function is traced. Instead:\n"
    "    seen = {}; seen[n] = True          # not: {n: True}, seen.add(n), for an integer n\n"
    "    table = np.array([1.0, 2.0])       # and table[i], for a dict with numbers as keys\n"
    "    jit(f, static_argnums=0)           # if the key is a setting, the same in many calls"
)
_OUTSIDE = re.compile(
    f"Object of type {_TRACED} is not JSON serializable|"
    f".*bytes-like object is required, not {_TRACED}"
)
_AFTER_THE_CALL = (
    "While a function is traced, its arrays have no values yet. Return the array, and use the "
    "result of the call:\n"
    "    y = jit(f)(x)                      # json.dumps(y.tolist()), memoryview(y)"
)
_OF_JAX = re.compile(r"(?s).*<class 'autojit\.tracing\..*is not a valid JAX type.*")
_NUMPYS = (
    "Traced arrays are NumPy's, and functions of JAX do not take them. Write it with NumPy:\n"
    "    np.sin(x)                          # not: jnp.sin(x)"
)
_KEYWORD = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(dim|keepdim)'.*")
_AXES = (
    "`dim` and `keepdim` are PyTorch's names. NumPy's are `axis` and `keepdims`:\n"
    "    np.{name}(x, axis=0, keepdims=True)"
)


def said_of_python(message: str) -> str | None:
    """Advice about a TypeError of Python's, or None.

    >>> print(said_of_python("mean() got an unexpected keyword argument 'dim'"))
    `dim` and `keepdim` are PyTorch's names. NumPy's are `axis` and `keepdims`:
        np.mean(x, axis=0, keepdims=True)
    """
    if _UNHASHABLE.fullmatch(message):
        return _NO_KEY
    if _OUTSIDE.fullmatch(message):
        return _AFTER_THE_CALL
    if _OF_JAX.fullmatch(message):
        return _NUMPYS
    found = _KEYWORD.fullmatch(message)
    if found is None:
        return None
    import numpy as np

    return _AXES.format(name=found[1]) if hasattr(np, found[1]) else None
