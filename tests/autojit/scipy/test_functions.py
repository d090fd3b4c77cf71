"""SciPy's functions on traced values beside SciPy itself, and their derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import autojit
from autojit import jit, jvp, vjp, vmap
from tests.samples.scipy_calculus import INTEGRALS, INTERPOLATION, OPTIMIZATION
from tests.samples.scipy_images import IMAGES
from tests.samples.scipy_linalg import LINALG
from tests.samples.scipy_rows import Row
from tests.samples.scipy_signal import DESIGNS, FOURIER, SIGNAL
from tests.samples.scipy_sparse import SPARSE
from tests.samples.scipy_special import SPECIAL

ROWS = [
    *FOURIER, *LINALG, *SIGNAL, *DESIGNS, *SPECIAL, *IMAGES, *INTEGRALS, *INTERPOLATION,
    *OPTIMIZATION, *SPARSE,
]  # fmt: skip
NAMED = pytest.mark.parametrize("sample", ROWS, ids=lambda r: r.name)


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in leaves(item)]
    return [] if result is None else [result]


def flat(sample: Row) -> Any:
    return lambda *arguments: tuple(leaves(sample.function(*arguments)))


def scipys_own(sample: Row, arguments: Any) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of accuracy
        return [np.asarray(x) for x in leaves(sample.function(*arguments))]


def drawn(arrays: Any, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)

    def one(x: Any) -> Any:
        made = rng.standard_normal(np.shape(x))
        return made + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else made

    return tuple(one(x) if np.asarray(x).dtype.kind in "fc" else np.zeros(np.shape(x))
                 for x in arrays)  # fmt: skip


def assert_close(sample: Row, got: Any, wanted: Any) -> None:
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert np.shape(a) == b.shape
        np.testing.assert_allclose(a, b, rtol=sample.rtol, atol=sample.atol)


@pytest.mark.sampled(72)
@NAMED
def test_values_and_derivatives(sample: Row) -> None:
    function, tangents = flat(sample), drawn(sample.arguments, 0)
    with autojit.disable_jit():
        values, pushed = jvp(function, sample.arguments, tangents)
        assert_close(sample, values, scipys_own(sample, sample.arguments))
        cotangents = drawn(values, 1)
        pulled = vjp(function, *sample.arguments)[1](cotangents)
    if not sample.flat:
        for a, b in zip(pushed, differences(sample, tangents), strict=True):
            assert np.max(np.abs(a - b), initial=0) <= sample.dtol * np.max(np.abs(b), initial=1)
    forward = sum(np.sum(np.real(c * t)) for c, t in zip(cotangents, pushed, strict=True))
    backward = sum(np.sum(np.real(c * t)) for c, t in zip(pulled, tangents, strict=True))
    assert abs(forward - backward) <= 1e-8 * (1 + abs(forward))


def differences(sample: Row, tangents: Any) -> list[Any]:
    """Central ones of fourth order."""
    h = 1e-5

    def at(s: float) -> list[np.ndarray]:
        moved = [a + s * t for a, t in zip(sample.arguments, tangents, strict=True)]
        return scipys_own(sample, moved)

    rows = zip(at(h), at(-h), at(2 * h), at(-2 * h), strict=True)
    return [(8 * (p - m) - (p2 - m2)) / (12 * h) for p, m, p2, m2 in rows]


@pytest.mark.slow
@NAMED
def test_batches(sample: Row) -> None:
    batches = tuple(np.stack([a, a * (1 + 1e-4)]) for a in sample.arguments)
    with autojit.disable_jit():
        got = vmap(flat(sample))(*batches)
    for k in range(2):
        assert_close(sample, [g[k] for g in got], scipys_own(sample, [b[k] for b in batches]))


@pytest.mark.sampled(14)
@pytest.mark.parametrize("sample", [r for r in ROWS if r.compiled], ids=lambda r: r.name)
def test_compiled(sample: Row) -> None:
    got = jit(flat(sample))(*sample.arguments)
    assert_close(sample, got, scipys_own(sample, sample.arguments))


@pytest.mark.parametrize(
    ("f", "given"),
    [
        (lambda a, b: scipy.linalg.solve_continuous_are(a, b, 3.0, 4.0), (1.0, 2.0)),
        (lambda a, b: scipy.linalg.solve_discrete_are(a, b, 3.0, 4.0), (1.0, 2.0)),
        (lambda s: scipy.linalg.diagsvd(s, 3, 4), (np.arange(3),)),
        (lambda x: scipy.signal.medfilt(x, 3), (np.array([2**60 + 1, 2**60, 2**60 + 2]),)),
    ],
)
def test_numbers_as_matrices_and_integers(f: Any, given: Any) -> None:
    got, want = jit(f)(*given), f(*given)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-13)
