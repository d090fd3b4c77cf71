"""Loads samples in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories
from autojit.torch.functions.shaping import FUNCTIONS

from .datasets import IterableDataset, TensorDataset
from .sampling import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch: list[Any]) -> Any:
    """A list of samples as one batch: tensors are stacked, numbers become a tensor, and trees keep
    their structure.

    >>> from autojit import torch
    >>> torch.utils.data.default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return FUNCTIONS["stack"](batch)
    if isinstance(first, (np.ndarray, np.generic)):
        return factories.from_numpy(np.stack(batch))
    if isinstance(first, float):
        return factories.tensor(batch, dtype=np.float64)
    if isinstance(first, int):
        return factories.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts: list[Any] = list(zip(*batch, strict=True))
        if isinstance(first, tuple) and hasattr(first, "_fields"):
            return type(first)(*(default_collate(part) for part in parts))
        return [default_collate(part) for part in parts]
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first)}"
    )


class DataLoader:
    """The samples of a data set in batches.

    Args:
        dataset: an object with ``__getitem__`` and ``__len__``, or an IterableDataset.
        batch_size: how many samples a batch has; None for samples one by one.
        shuffle: whether the order is random, with a new order in each pass.
        sampler: an iterable of sample numbers.
        batch_sampler: an iterable of lists of sample numbers, one for each batch.
        num_workers: 0; samples are loaded in this process.
        collate_fn: makes a batch from a list of samples.
        drop_last: whether a last batch that is smaller is omitted.
        generator: the source of the random order.

    >>> from autojit import torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(5))
    >>> for (x,) in torch.utils.data.DataLoader(data, batch_size=2):
    ...     print(x)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
                 collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
                 *, generator: Any = None, **_: Any) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last"
            )
        if batch_size is not None and batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        self.dataset: Any = dataset
        self.batch_size: int | None = batch_size
        self.drop_last: bool = drop_last
        self.num_workers: int = num_workers
        self.generator: Any = generator
        self.sampler = sampler
        self.batch_sampler: BatchSampler = batch_sampler
        self._is_usual = collate_fn is None
        self.collate_fn = collate_fn or default_collate
        if isinstance(dataset, IterableDataset):
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle, sampler and "
                    "batch_sampler options"
                )
            return
        if sampler is None and batch_sampler is None:
            self.sampler = (
                RandomSampler(dataset, generator=generator) if shuffle
                else SequentialSampler(dataset)
            )  # fmt: skip
        if batch_sampler is None and batch_size is not None:
            self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            yield from self._one_after_the_other()
        elif self.batch_sampler is None:
            for k in self.sampler:
                sample = self.dataset[k]
                yield sample if self._is_usual else self.collate_fn(sample)
        elif self._is_usual and type(self.dataset) is TensorDataset:
            for numbers in self.batch_sampler:  # reads all rows at once, which stacks them
                yield list(self.dataset[factories.tensor(numbers)])
        else:
            for numbers in self.batch_sampler:
                yield self.collate_fn([self.dataset[k] for k in numbers])

    def _one_after_the_other(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from samples
            return
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            total = len(self.dataset)  # type: ignore[arg-type]
            size = self.batch_size or 1
            return total // size if self.drop_last else -(-total // size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
