"""Values of programs, their operators, and the places in the user's code that they come from."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .types import Type

#: Between a message and the user's line under it.
_BREAK = re.compile(r"\n\n(?=  (?:File \"|Cell In\[))")


def notebook() -> Any:
    """IPython's shell, of a notebook or a terminal; None elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    return ipython.get_ipython() if hasattr(ipython, "get_ipython") else None


def shown_file(file: str) -> str:
    """The name of a file to a reader: that of a cell is ``In[3]``, as IPython writes it.

    >>> shown_file("model.py")
    'model.py'
    """
    name = getattr(getattr(notebook(), "compile", None), "format_code_name", None)
    found = name(file) if name is not None else None
    return found[1] if found and found[0] == "Cell" else file


def place_text(file: str, line: int, function: str) -> str:
    """The position and the text of a line, in the form of tracebacks.

    >>> print(place_text("model.py", 7, "loss"))
      File "model.py", line 7, in loss
    """
    shown = shown_file(file)
    where = f'File "{file}"' if shown == file else f"Cell {shown}"
    inside = f", in {function}" if function else ""
    text = linecache.getline(file, line).strip()
    return f"  {where}, line {line}{inside}" + (f"\n    {text}" if text else "")


def apart(message: str) -> tuple[str, str]:
    """A message without the user's line, and that line with its preceding line break.

    >>> apart('x is traced.\\n\\n  File "model.py", line 7')
    ('x is traced.', '\\n\\n  File "model.py", line 7')
    """
    found = _BREAK.search(message)
    return (message, "") if found is None else (message[: found.start()], message[found.start() :])


def has_place(error: BaseException) -> bool:
    """Whether one of the notes of an error names the user's line."""
    notes: list[str] = getattr(error, "__notes__", [])
    return any(_BREAK.search(f"\n\n{note}") for note in notes)


class Source(NamedTuple):
    """The place in the user's code that an op comes from.

    An op of a reverse sweep comes from the line it differentiates, marked ``backward``.

    >>> Source("model.py", 7).reversed().described
    'backward of model.py:7'
    """

    file: str
    line: int
    function: str = ""
    backward: bool = False

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}"

    @property
    def place(self) -> tuple[str, int, str]:
        """The line alone, equal for forward and backward ops."""
        return self[:3]

    @property
    def described(self) -> str:
        """The position, and whether the op belongs to the reverse sweep."""
        return f"backward of {self}" if self.backward else str(self)

    def reversed(self) -> Source:
        """The position for ops that carry cotangents back through an op from here."""
        return self if self.backward else self._replace(backward=True)


class DerivedSource(Source):
    """The position of an op that belongs to the derivative of another op.

    ``of`` is the name of the op that the user wrote. This op computes the cotangent of a value;
    ``value`` is where that value was computed.

    >>> made = DerivedSource.cotangent(Source("model.py", 7).reversed(), Source("model.py", 3))
    >>> made.line, made.value.line
    (7, 3)
    """

    of: str = ""
    value: Source | None = None

    @classmethod
    def cotangent(cls, source: Source, value: Source) -> DerivedSource:
        """The position of an op that computes the cotangent of a value from elsewhere."""
        made = cls(*source)
        if isinstance(source, DerivedSource):
            made.of = source.of
        made.value = value
        return made


#: The ops that the operators of values emit, by name; ``ops.arithmetic`` fills it in.
OPERATORS: dict[str, Callable[..., Value]] = {}


class Views:
    """Functions of upper layers (``ir.tools`` and above) that print, draw, run and show
    programs."""

    text: Callable[..., str]
    graph: Callable[[Any], Any]
    interpret: Callable[[Any, Sequence[Any]], list[Any]]
    html: Callable[[Any], str]
    bundle: Callable[[Any, Any, Any], dict[str, str]]


views = Views()


class Value:
    """One SSA value.  Equal only to itself.

    The operators (``+ - * /``) emit ops into the current builder, so that derivative rules read
    like formulas.
    """

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type: Type = type

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def __repr__(self) -> str:
        return f"<value {self.type}>"

    def __add__(self, other: Any) -> Value:
        return OPERATORS["add"](self, other)

    def __radd__(self, other: Any) -> Value:
        return OPERATORS["add"](other, self)

    def __sub__(self, other: Any) -> Value:
        return OPERATORS["sub"](self, other)

    def __rsub__(self, other: Any) -> Value:
        return OPERATORS["sub"](other, self)

    def __mul__(self, other: Any) -> Value:
        return OPERATORS["mul"](self, other)

    def __rmul__(self, other: Any) -> Value:
        return OPERATORS["mul"](other, self)

    def __truediv__(self, other: Any) -> Value:
        return OPERATORS["div"](self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return OPERATORS["div"](other, self)

    def __neg__(self) -> Value:
        return OPERATORS["neg"](self)
