"""Which thread touched an element, to find two that meet without a barrier between them.

Threads of different blocks never wait for each other within a launch: an element that one of them
writes may be touched by no other block.  Threads of one block are in order where a barrier of the
block, or of their team, stands between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Instead of a thread: no one, and several.
NOBODY, SEVERAL = -1, -2


class RaceError(AssertionError):
    """Two threads touch an element, at least one writes, and nothing orders them."""


@dataclass
class Touching:
    """The threads that touch elements now: their numbers, blocks and teams, and the barriers that
    each has passed, of its block and of its team."""

    lane: np.ndarray
    block: np.ndarray
    team: np.ndarray
    block_epoch: np.ndarray
    team_epoch: np.ndarray


class _Last:
    """Who touched each element last, in one way."""

    def __init__(self, size: int) -> None:
        self.lane = np.full(size, NOBODY)
        self.block = np.full(size, NOBODY)
        self.team = np.full(size, NOBODY)
        self.block_epoch = np.zeros(size, int)
        self.team_epoch = np.zeros(size, int)

    def others(self, cells: np.ndarray, now: Touching) -> np.ndarray:
        """Where another thread touched the element, with nothing that orders the two."""
        lane, block = self.lane[cells], self.block[cells]
        another = (lane != NOBODY) & (lane != now.lane)
        same_epoch = self.block_epoch[cells] == now.block_epoch
        same_team = self.team[cells] == now.team
        waited = same_team & (self.team_epoch[cells] != now.team_epoch)
        result: np.ndarray = another & ((block != now.block) | (same_epoch & ~waited))
        return result

    def note(self, cells: np.ndarray, now: Touching) -> None:
        """These threads have touched the elements; several since a barrier are ``SEVERAL``."""
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
        # Of several that touch an element at once, the last is noted: then they differ from it.
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
        """An element that another thread writes, if there is one."""
        bad = self._writers.others(cells, now) | self._atomic.others(cells, now)
        self._readers.note(cells, now)
        return _first(cells, bad)

    def write(self, cells: np.ndarray, now: Touching) -> int | None:
        """An element that another thread touches, if there is one."""
        bad = self._writers.others(cells, now) | self._readers.others(cells, now)
        bad |= self._atomic.others(cells, now)
        self._writers.note(cells, now)
        bad |= self._writers.lane[cells] != now.lane
        return _first(cells, bad)

    def add(self, cells: np.ndarray, now: Touching) -> int | None:
        """An element that another thread touches otherwise than by adding atomically."""
        bad = self._writers.others(cells, now) | self._readers.others(cells, now)
        self._atomic.note(cells, now)
        return _first(cells, bad)


def _first(cells: np.ndarray, bad: np.ndarray) -> int | None:
    return int(cells[bad][0]) if bad.any() else None
