"""Samplers: the order in which samples are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from autojit.torch.functions.factories import default_generator


class Sampler:
    """An iterable of sample numbers."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """All samples in sequence."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """Samples in random order."""

    def __init__(self, data_source: Any, replacement: bool = False,
                 num_samples: int | None = None, generator: Any = None) -> None:  # fmt: skip
        super().__init__(data_source)
        self.replacement: bool = replacement
        self._count = num_samples
        self.generator: Any = generator

    def __iter__(self) -> Iterator[int]:
        source = (self.generator or default_generator).numbers
        n = len(self.data_source)
        if self.replacement:
            drawn = source.integers(0, n, len(self))
        else:
            rounds = -(-len(self) // n)
            drawn = np.concatenate([source.permutation(n) for _ in range(rounds)])[: len(self)]
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return len(self.data_source) if self._count is None else self._count


class SubsetRandomSampler(Sampler):
    """Some samples, in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        super().__init__()
        self.indices: Sequence[int] = indices
        self.generator: Any = generator

    def __iter__(self) -> Iterator[int]:
        source = (self.generator or default_generator).numbers
        return iter([self.indices[k] for k in source.permutation(len(self.indices))])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Samples drawn with probabilities proportional to weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True,
                 generator: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.weights = np.asarray(getattr(weights, "_data", weights), float)
        self.num_samples: int = num_samples
        self.replacement: bool = replacement
        self.generator: Any = generator

    def __iter__(self) -> Iterator[int]:
        source = (self.generator or default_generator).numbers
        shares = self.weights / self.weights.sum()
        drawn = source.choice(len(shares), self.num_samples, self.replacement, shares)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of ``batch_size`` sample numbers from a sampler."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        super().__init__()
        self.sampler: Iterable[int] = sampler
        self.batch_size: int = batch_size
        self.drop_last: bool = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for k in self.sampler:
            batch.append(k)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        total = len(self.sampler)  # type: ignore[arg-type]
        return total // self.batch_size if self.drop_last else -(-total // self.batch_size)
