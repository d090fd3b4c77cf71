"""The last threads that touched each element are recorded, to find races.

Threads of different blocks never wait for each other within a launch: if one of them writes an
element, no other block may touch it.  Accesses by threads of one block are ordered if a barrier of
the block, or of their team, is between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Values in the place of a thread's number: no thread, and several threads.
NOBODY, SEVERAL = -1, -2


class RaceError(AssertionError):
    """Two threads touch an element, at least one of them writes, and nothing orders them."""


@dataclass
class Touching:
    """The threads that touch elements now: their numbers, blocks and teams, and the numbers of
    barriers that each has passed, of its block and of its team."""

    lane: np.ndarray
    block: np.ndarray
    team: np.ndarray
    block_epoch: np.ndarray
    team_epoch: np.ndarray


class _Last:
    """The last thread that touched each element in one way: read, write or atomic update."""

    def __init__(self, size: int) -> None:
        self.lane = np.full(size, NOBODY)
        self.block = np.full(size, NOBODY)
        self.team = np.full(size, NOBODY)
        self.block_epoch = np.zeros(size, int)
        self.team_epoch = np.zeros(size, int)

    def others(self, cells: np.ndarray, now: Touching) -> np.ndarray:
        """Whether another thread touched each element, with nothing that orders the two."""
        lane, block = self.lane[cells], self.block[cells]
        another = (lane != NOBODY) & (lane != now.lane)
        same_epoch = self.block_epoch[cells] == now.block_epoch
        same_team = self.team[cells] == now.team
        waited = same_team & (self.team_epoch[cells] != now.team_epoch)
        result: np.ndarray = another & ((block != now.block) | (same_epoch & ~waited))
        return result

    def note(self, cells: np.ndarray, now: Touching) -> None:
        """Note that these threads touch the elements; ``SEVERAL`` stands for several threads since
        a barrier."""
        earlier = self.lane[cells] != NOBODY
        elsewhere = earlier & (self.block[cells] != now.block)
        meanwhile = earlier & (self.block_epoch[cells] == now.block_epoch) & ~elsewhere
        waited = (self.team[cells] == now.team) & (self.team_epoch[cells] != now.team_epoch)
        meanwhile &= ~waited
        many = meanwhile & (self.lane[cells] != now.lane)
        teams = meanwhile & (self.team[cells] != now.team)
        self.lane[cells] = np.where(many, SEVERAL, now.lane)
        self.team[cells] = np.where(teams, SEVERAL, now.team)
        self.block[cells] = np.where(elsewhere, SEVERAL, now.block)
        self.block_epoch[cells] = now.block_epoch
        self.team_epoch[cells] = now.team_epoch
        # If several threads touch an element at once, the assignments above keep the last one, so
        # the others differ from it.
        differs = self.lane[cells] != now.lane
        self.lane[cells[differs]] = SEVERAL
        others = self.team[cells] != now.team
        self.team[cells[others]] = SEVERAL
        blocks = self.block[cells] != now.block
        self.block[cells[blocks]] = SEVERAL


class Shadow:
    """The last readers and writers of a buffer's elements within one launch."""

    def __init__(self, size: int) -> None:
        self._readers, self._writers, self._atomic = _Last(size), _Last(size), _Last(size)

    def read(self, cells: np.ndarray, now: Touching) -> int | None:
        """Note a read; return an element that another thread writes, or None."""
        bad = self._writers.others(cells, now) | self._atomic.others(cells, now)
        self._readers.note(cells, now)
        return _first(cells, bad)

    def write(self, cells: np.ndarray, now: Touching) -> int | None:
        """Note a write; return an element that another thread touches, or None."""
        bad = self._writers.others(cells, now) | self._readers.others(cells, now)
        bad |= self._atomic.others(cells, now)
        self._writers.note(cells, now)
        bad |= self._writers.lane[cells] != now.lane
        return _first(cells, bad)

    def add(self, cells: np.ndarray, now: Touching) -> int | None:
        """Note an atomic update; return an element that another thread touches in another way, or
        None."""
        bad = self._writers.others(cells, now) | self._readers.others(cells, now)
        self._atomic.note(cells, now)
        return _first(cells, bad)


def _first(cells: np.ndarray, bad: np.ndarray) -> int | None:
    return int(cells[bad][0]) if bad.any() else None
