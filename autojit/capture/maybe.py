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


optree.register_pytree_node(
    Maybe,
    lambda x: ([x.value, x.held], None, ["value", "held"]),
    lambda _, children: Maybe(*children),
    namespace=NAMESPACE,
)
