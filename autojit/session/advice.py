"""What errors say about traced arrays and numbers, and the code to write instead; and advice for
when Python itself refuses a traced value or a keyword."""

from __future__ import annotations

import re

_TRACED = "'?(?:Tracer|TracedArray|FreshArray)'?"
_OUTSIDE = re.compile(
    f"Object of type {_TRACED} is not JSON serializable|"
    f".*bytes-like object is required, not {_TRACED}"
)
AFTER_THE_CALL = (
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

#: Fixes for assigning a traced value into an ordinary array.
ASSIGN = (
    "If it is assigned into an array, make that array in the traced function, by the name in the "
    "module:\n"
    "    out = np.zeros(3); out[0] = x      # not: from numpy import zeros"
)
SHOW = (
    "A text of its type may only be shown, in the statement that makes it or by its name:\n"
    "    print(f'{x}')                      # not: table[f'{x}']\n"
    "As a key use a number, or make the texts where f is called."
)
STORED = "Assigning x into an ordinary array"
ASSIGNMENT_FIX = (
    "The array that it is assigned into comes from outside the traced function, or something "
    "else refers to it (a cache, a list). Assign into one of the function's own:\n"
    "    y = y0.copy(); y[0] = x            # not: y0[0] = x"
)
TAKE = (
    "To pick from an array that is known:\n"
    "    np.take(table, i)                  # not: table[i]\n"
    "    jit(f)(table, x)                   # or make it an argument of jit, which traces all\n"
)
BOOL = "bool(x), as `if`, `while`, `and`, `or` and `assert` call it,"
CHOOSE = (
    "Or choose element by element:\n"
    "    y = np.where(x > 0, a, b)          # not: a if x > 0 else b\n"
)
HASH = "hash(x), as dicts and sets call it,"
KEY = (
    "Use an integer as a key, an array in place of a table, or a static argument:\n"
    "    seen = {}; seen[n] = True          # not: {n: True}, seen.add(n), for an integer n\n"
    "    table = np.array([1.0, 2.0])       # and table[i], for a dict with numbers as keys\n"
    "    jit(f, static_argnums=0)           # if the key is a setting, the same in many calls"
)


def said_of_python(message: str) -> str | None:
    """Advice about a TypeError of Python's, or None.

    >>> print(said_of_python("mean() got an unexpected keyword argument 'dim'"))
    `dim` and `keepdim` are PyTorch's names. NumPy's are `axis` and `keepdims`:
        np.mean(x, axis=0, keepdims=True)
    """
    if _OUTSIDE.fullmatch(message):
        return AFTER_THE_CALL
    if _OF_JAX.fullmatch(message):
        return _NUMPYS
    found = _KEYWORD.fullmatch(message)
    if found is None:
        return None
    import numpy as np

    return _AXES.format(name=found[1]) if hasattr(np, found[1]) else None
