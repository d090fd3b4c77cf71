"""Names that are bound on one way through a block but not on another."""

from __future__ import annotations

from typing import Any

import optree

from autojit.staging.pytrees import NAMESPACE


class Maybe:
    """The value of a name that is bound if ``held`` is true."""

    __slots__ = ("held", "value")

    def __init__(self, value: Any, held: Any) -> None:
        self.value = value
        self.held = held


def _taken_apart(x: Any) -> tuple[list[Any], None, list[str]]:
    return [x.value, x.held], None, ["value", "held"]


def _put_together(_: Any, children: Any) -> Any:
    return Maybe(*children)


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Maybe
optree.register_pytree_node(_CLASS, _taken_apart, _put_together, namespace=NAMESPACE)
