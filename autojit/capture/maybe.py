"""Names that are bound on one way through a block and not on another."""

from __future__ import annotations

from typing import Any

import optree

from autojit.staging.pytrees import NAMESPACE


class Maybe:
    """The value of a name that is bound where ``held`` is true."""

    __slots__ = ("held", "value")

    def __init__(self, value: Any, held: Any) -> None:
        self.value = value
        self.held = held


def _parts(x: Any) -> Any:
    return [x.value, x.held], None, ["value", "held"]


def _from_parts(_: Any, parts: Any) -> Any:
    return Maybe(*parts)


_TYPE: Any = Maybe  # which is no collection but for optree
optree.register_pytree_node(_TYPE, _parts, _from_parts, namespace=NAMESPACE)
