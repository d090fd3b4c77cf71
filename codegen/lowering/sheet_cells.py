"""Cells of the rows of a sheet: values with separate lifetimes share them.

    made 3: mul, 9 elements, its last reader is made 4     [20:+9] = mul …
    made 5: sin, 9 elements                                [20:+9] = sin …

Legal where no row reads a value after its cells are given to another one: a value keeps its cells
until its last reader is written, and the cells of constants, inputs and outputs are given to
nothing else. An array that is written in place takes the cells of the old one if only the elements
that stay are read of that.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class Made(NamedTuple):
    """Cells that are computed together."""

    word: str
    extent: int
    operands: tuple[At, ...]


class At(NamedTuple):
    """Elements of a row, constant or input: the first one, and whether they differ (step 1)."""

    maker: int
    offset: int
    step: int


def fused(made: list[Made], results: list[At]) -> list[Made]:
    """Fuse sums with products that nothing else reads into one row."""
    uses = [0] * len(made)
    for row in made:
        for at in row.operands:
            uses[at.maker] += 1
    for at in results:
        uses[at.maker] += 1
    done = list(made)
    for i, row in enumerate(made):
        if row.word not in ("add", "sub"):
            continue
        for k, at in enumerate(row.operands):
            product = made[at.maker]
            if product.word == "mul" and uses[at.maker] == 1 and product.extent == row.extent:
                word = "mul_add" if row.word == "add" else "sub_mul" if k else "mul_sub"
                done[i] = Made(word, row.extent, (*product.operands, row.operands[1 - k]))
                done[at.maker] = Made("nothing", 1, ())
                break
    return done


class Cells:
    """The cells of all values, and the rows as numbers; constants and inputs are ``given``."""

    def __init__(self, made: list[Made], given: Collection[int], results: list[At]) -> None:
        self.made = made
        #: The first cell of each value; free cells by their number; and the end.
        self.at: list[int] = [-1] * len(made)
        self.free: dict[int, list[int]] = {}
        self.end = 0
        self.words: dict[str, int] = {}
        self.rows: list[tuple[int, ...]] = []
        #: Joins that have the cells of the value that they replace.
        self.replacing: set[int] = set()
        self.left = [0] * len(made)
        for row in made:
            for at in row.operands:
                self.left[at.maker] += 1
        for i in (*given, *(at.maker for at in results)):
            self.left[i] = 4 * len(made)  # more than three reads per row, so they stay
        for i in given:
            self.at[i] = self.end
            self.end += made[i].extent
        for i, row in enumerate(made):
            self._row(i, row)

    def _row(self, i: int, row: Made) -> None:
        if row.word in ("constant", "input", "nothing"):
            return
        if row.word == "join":
            self._join(i, row)
            return
        if row.word == "stay" and row.operands[1].maker in self.replacing:
            self.left[row.operands[0].maker] -= 1
            self._read(row.operands[1].maker)
            return
        operands, extent = row.operands, row.extent
        copies = row.word in ("copy", "stay")
        if copies:
            operands, part = operands[:1], operands[1]
            to = self.at[part.maker] + part.offset
        else:
            to = self.at[i] = self._taken(1 if row.word == "sum" else extent)
        word = self.words.setdefault("copy" if copies else row.word, len(self.words))
        places = [self._place(at, extent) for at in operands]
        self.rows.append((word, extent, to, *places, *[0] * (3 - len(places))))
        for at in row.operands:
            self._read(at.maker)
        if not self.left[i] and not copies:
            self._release(i)

    def _join(self, i: int, row: Made) -> None:
        """Take new cells, or those of the old value if only the elements that stay are read."""
        if row.operands:
            old = row.operands[0].maker
            self.left[old] -= len(row.operands)
            if self.left[old] == len(row.operands):
                self.replacing.add(i)
                self.at[i] = self.at[old]
                return
        self.at[i] = self._taken(row.extent)

    def _place(self, at: At, extent: int) -> int:
        cell = self.at[at.maker] + at.offset
        return cell if at.step or extent == 1 else ~cell

    def _taken(self, extent: int) -> int:
        free = self.free.get(extent)
        if free:
            return free.pop()
        self.end += extent
        return self.end - extent

    def _read(self, i: int) -> None:
        self.left[i] -= 1
        if not self.left[i]:
            self._release(i)

    def _release(self, i: int) -> None:
        extent = 1 if self.made[i].word == "sum" else self.made[i].extent
        self.free.setdefault(extent, []).append(self.at[i])
