"""The declared ops by name, for modules that are imported before an op is declared."""

from __future__ import annotations

from typing import Any

#: Every declared op by name.
REGISTRY: dict[str, Any] = {}


class _Declared:
    """Declared ops as attributes, looked up on use.

    A derivative rule may emit an op that is declared in a module above its own: ``declared.log(x)``
    in the rule of ``power``, say, where ``elementary`` imports ``arithmetic``.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return REGISTRY[name]
        except KeyError:
            raise AttributeError(f"there is no op named {name!r}") from None


declared = _Declared()
