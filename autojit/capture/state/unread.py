"""Elements of lists and dicts that are not known; every use of one is refused."""

from __future__ import annotations

from typing import Any

from autojit.errors import CaptureError, with_place
from autojit.tracing.array_methods import OPERATORS
from autojit.tracing.source import user_source

UNREAD = (
    "A loop that appends to a list reads or sets this element, which differs in each step. Keep "
    "the value that the next step needs in a variable: xs.append(x); last = x."
)


class Unread:
    """An element of a list that grows in a loop; it is another one in each step."""

    __aj_internal__ = True
    #: So that modules below this one recognize lists that grow.
    list_grows = True

    @property
    def words(self) -> str:
        return UNREAD

    def __getattr__(self, name: str) -> Any:
        raise CaptureError(with_place(self.words, user_source()))

    def _refuse(self, *args: Any) -> Any:
        raise CaptureError(with_place(self.words, user_source()))

    __array_ufunc__ = None


for _name in (*OPERATORS, *(f"__{word}__" for word in (
    "bool", "float", "int", "complex", "index", "array", "len", "iter", "getitem", "call",
))):  # fmt: skip
    setattr(Unread, _name, Unread._refuse)


class Lost(Unread):
    """An element of a list or dict that may have changed, since one that it may be has changed."""

    words = (
        "This list, dict or object may have been changed under another name: a traced condition "
        "decides which object that name refers to. Bind this name to a copy first:\n"
        "    ys = list(xs)                      # not: ys = xs\n"
        "    ys = dict(xs)\n"
        "    q = dataclasses.replace(p)         # not: q = p"
    )
