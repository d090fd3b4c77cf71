"""Batches of sequences of different lengths, padded or packed.

Packing stores the elements step by step; each step has the elements of all sequences that are long
enough, the longest first. Sequences a, bb and ccc become ``[c, b, a, c, b, c]`` with the batch
sizes 3, 2, 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.shaping import FUNCTIONS


class PackedSequence(NamedTuple):
    """The elements of all sequences step by step, and the number of sequences in each step.

    ``sorted_indices`` are the numbers of the sequences, the longest first, and ``unsorted_indices``
    their places in that order; both are None if the sequences were given in that order.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    @property
    def lengths(self) -> np.ndarray:
        """The lengths of the sequences, the longest first."""
        sizes = self.batch_sizes._data
        return np.asarray((sizes[:, None] > np.arange(sizes[0])).sum(axis=0))


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:  # fmt: skip
    """Sequences of different lengths, padded to the longest one: ``(steps, batch, …)``.

    >>> from autojit import torch
    >>> rows = [torch.ones(2), torch.zeros(3)]
    >>> torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    tensor([[1., 1., 0.],
            [0., 0., 0.]])
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side should be one of 'right' or 'left'; got {padding_side}")
    longest = max(len(x) for x in sequences)
    rows = []
    for x in sequences:
        padding = x.new_full((longest - len(x), *x.shape[1:]), padding_value)
        rows.append(FUNCTIONS["cat"]([x, padding] if padding_side == "right" else [padding, x]))
    made: Tensor = FUNCTIONS["stack"](rows, 0 if batch_first else 1)
    return made


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences that ``pad_sequence`` has padded on the right."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(x, _counts(lengths), strict=True)]


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:  # fmt: skip
    """Pack sequences that ``pad_sequence`` has padded on the right: ``input`` is (steps, batch, …).

    Args:
        input: the padded sequences.
        lengths: a list or a tensor of the lengths.
        batch_first: whether ``input`` is (batch, steps, …).
        enforce_sorted: whether sequences must be given longest first; if False, they are sorted.

    >>> from autojit import torch
    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 0.0]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(x, [3, 2], batch_first=True).data
    tensor([1., 4., 2., 5., 3.])
    """
    counts = np.asarray(_counts(lengths), np.int64)
    batch = input.shape[0 if batch_first else 1]
    if len(counts) != batch:
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{len(counts)} (batch_size={batch})"
        )
    if (counts <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    x = input.transpose(0, 1) if batch_first else input
    order = places = None
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
        places = np.argsort(order)
        x, counts = x[:, wrap(order)], counts[order]
    elif (np.diff(counts) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    steps, rows = np.nonzero(np.arange(counts[0])[:, None] < counts)
    sizes = (np.arange(counts[0])[:, None] < counts).sum(axis=1)
    data = x[wrap(steps), wrap(rows)]
    numbers = [None if n is None else wrap(n) for n in (order, places)]
    return PackedSequence(data, wrap(sizes), *numbers)


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = [len(x) for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False,
                        padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The padded sequences, ``(steps, batch, …)``, and their lengths."""
    counts = sequence.lengths
    longest = len(sequence.batch_sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {longest}"
        )
    total = longest if total_length is None else total_length
    data = sequence.data
    padding = data.new_full((1, *data.shape[1:]), padding_value)
    places = np.full((total, len(counts)), len(data))
    places[np.nonzero(np.arange(total)[:, None] < counts)] = np.arange(len(data))
    padded = FUNCTIONS["cat"]([data, padding])[wrap(places)]
    if sequence.unsorted_indices is not None:
        padded = padded[:, sequence.unsorted_indices]
        counts = counts[sequence.unsorted_indices._data]
    return (padded.transpose(0, 1) if batch_first else padded), wrap(counts.astype(np.int64))


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences as a list."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def _counts(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def run_packed(
    run: Any, sequence: PackedSequence, states: Sequence[Tensor] | None
) -> tuple[PackedSequence, list[Tensor]]:
    """Run a recurrent layer over packed sequences; sequences of the same length run together.

    ``run(x, states)`` takes (steps, batch, …) and the states of these sequences, or None, and
    returns the results and the last states.
    """
    order, places = sequence.sorted_indices, sequence.unsorted_indices
    x, _ = pad_packed_sequence(sequence._replace(unsorted_indices=None))
    if states is not None and order is not None:
        states = [s[:, order] for s in states]
    counts = sequence.lengths
    starts = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    parts, lasts, where = [], [], np.zeros(x.shape[:2], np.int64)
    done = 0
    for first, stop in pairwise(starts):
        n = int(counts[first])
        own = None if states is None else [s[:, first:stop] for s in states]
        y, last = run(x[:n, first:stop], own)
        parts.append(y.reshape(-1, y.shape[-1]))
        lasts.append(last)
        size = n * (stop - first)
        where[:n, first:stop] = np.arange(done, done + size).reshape(n, -1)
        done += size
    valid = np.arange(len(where))[:, None] < counts
    data = FUNCTIONS["cat"](parts)[wrap(where[valid])]
    ends = [FUNCTIONS["cat"](list(found), 1) for found in zip(*lasts, strict=True)]
    if places is not None:
        ends = [s[:, places] for s in ends]
    return sequence._replace(data=data), ends
