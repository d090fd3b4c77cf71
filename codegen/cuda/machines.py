"""The sizes of launches for a card."""

from __future__ import annotations

from .driver.card import Card
from .driver.cards import is_simulated
from .libraries.finding import libraries
from .mapping.machine import Machine


def machine(card: Card) -> Machine:
    """The sizes of launches for a card, or for the simulator."""
    if is_simulated():
        from .simulator import SIMULATED, add_warps

        add_warps()
        return SIMULATED
    return Machine(processors=card.processors, resident=card.resident,
                   together=card.runs_together, libraries=libraries())  # fmt: skip
