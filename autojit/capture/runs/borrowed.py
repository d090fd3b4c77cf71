"""Lists and dicts that a recursive call gets from its caller's frame.

A frame holds their elements, so the call has copies of them. It may read these, and pass them on.
If it changes, returns or stores one, the caller would not see that, and the recursion is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from autojit.capture.state.holders import contents, is_same_content
from autojit.capture.state.sharing import containers

from .messages import CHANGED_LIST
from .records import Outside
from .versions import refused


class _Borrowed(NamedTuple):
    """A list or dict, and its contents when the run began."""

    container: Any
    before: Any


class Borrowed:
    """The lists and dicts of callers that one run has copies of."""

    def __init__(self, function: Any, outside: Outside) -> None:
        self._function, self._outside = function, outside
        self._held: dict[int, _Borrowed] = {}

    def note(self, value: Any) -> None:
        """Note the containers in a value, except those that are there before the recursion."""
        for _, x in containers(value):
            if not self._outside.has(x):
                self._held[id(x)] = _Borrowed(x, contents(x))

    def among(self, values: Iterable[Any]) -> list[bool]:
        """For each value, whether it has such a container."""
        if not self._held:
            return []
        return [any(id(x) in self._held for _, x in containers(value)) for value in values]

    def check(self, result: Any = ()) -> None:
        """Raise CaptureError if one has changed, or if others than the call have it: it is a part
        of the result, or in an object from outside."""
        if not self._held:
            return
        is_changed = any(not is_same_content(contents(x.container), x.before)
                         for x in self._held.values())  # fmt: skip
        is_elsewhere = not self._outside.elsewhere().isdisjoint(self._held)
        if is_changed or is_elsewhere or any(self.among([result])):
            raise refused(self._function, CHANGED_LIST)
