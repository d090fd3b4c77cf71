"""Pipelines: passes in a declared order, with the reason for each place in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import records
from .passes import Pass

U = TypeVar("U")


class UnmetNeed(Exception):
    """A pass is at a place where a property that it needs does not hold."""


@dataclass(frozen=True)
class Place(Generic[U]):
    """A pass in a pipeline, and why it runs there.

    ``where`` says of a target whether it wants the pass.
    """

    run: Pass[U]
    reason: str
    where: Callable[[Any], bool] = lambda target: True


class Pipeline(Generic[U]):
    """Passes in order.  ``then`` follows each of them.

    ``given`` are the properties of what comes in.  Raises :class:`UnmetNeed` where a pass needs a
    property that does not hold there.
    """

    def __init__(
        self,
        name: str,
        places: Sequence[Place[U]],
        *,
        given: Iterable[str] = (),
        then: Pass[U] | None = None,
    ) -> None:
        self.name = name
        self.places = tuple(places)
        self.then = then
        self.given = frozenset(given)
        self.check([place.run for place in self.places])

    def check(self, passes: Sequence[Pass[U]]) -> frozenset[str]:
        """Check the needs of this pipeline's passes; return the properties of its results."""
        holds = self.given
        for run in passes:
            holds = _after(run, holds, self.name)
            if self.then is not None:
                holds = _after(self.then, holds, self.name)
        return holds

    def wanted(self, target: Any) -> list[Pass[U]]:
        """The passes that a target wants."""
        return [place.run for place in self.places if place.where(target)]

    def __call__(self, unit: U, target: Any = None) -> U:
        record = records.current()
        if record is None:
            return self._run(unit, target)
        return record.phase(self.name, self._run, unit, target)

    def _run(self, unit: U, target: Any) -> U:
        for run in self.wanted(target):
            unit = run(unit)
            if self.then is not None:
                unit = self.then(unit)
        return unit


def _after(run: Pass[Any], holds: frozenset[str], pipeline: str) -> frozenset[str]:
    missing = sorted(run.needs - holds)
    if missing:
        raise UnmetNeed(
            f"{pipeline}: the pass {run.name} needs {', '.join(missing)}, but the passes before "
            f"it give {', '.join(sorted(holds)) or 'nothing'}"
        )
    return (holds & run.keeps) | run.gives
