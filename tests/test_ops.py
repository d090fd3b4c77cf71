"""Every row of the table of samples: values, first and second derivatives, in every mode.

The oracles are independent of the derivative rules: plain NumPy for values; for derivatives the
complex step where NumPy takes complex arguments, central differences, and PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.functions import selecting
from autojit.functions.bounded import masks
from autojit.ir.autodiff.linearize import jvp
from autojit.ir.core.declaration import ANSWERS
from autojit.ir.core.program import Program
from autojit.ir.core.registry import REGISTRY
from autojit.ir.ops import arithmetic
from autojit.ir.transforms.gradient import gradient
from autojit.protocols import registry, ufunc_plans, ufuncs
from autojit.session import transform_cache
from autojit.tracing.hooks import hooks
from tests.samples import SAMPLES, Sample
from tests.samples.statistics import NEEDS, is_runnable

DIFFERENTIABLE = [s for s in SAMPLES if s.order]
TWICE = [s for s in SAMPLES if s.order == 2]
Arrays = list[Any]


def each(samples: Sequence[Sample]) -> Any:
    return pytest.mark.parametrize("sample", samples, ids=lambda s: s.name)


def leaves(result: Any) -> Arrays:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def is_inexact(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def numbers(arguments: Arrays) -> tuple[int, ...]:
    """Return the positions of the arguments to differentiate by."""
    return tuple(i for i, x in enumerate(arguments) if is_inexact(x))


def direction(x: Any, rng: np.random.Generator) -> Any:
    v = rng.uniform(0.5, 1.5, np.shape(x)) * rng.choice([-1, 1], np.shape(x))
    return v * np.exp(1j * rng.uniform(0, 6, np.shape(x))) if np.iscomplexobj(x) else v


def along(arguments: Arrays, tangents: Arrays, step: complex) -> Arrays:
    """The arguments moved along the tangents."""
    moved = list(arguments)
    for i, v in zip(numbers(arguments), tangents, strict=True):
        moved[i] = arguments[i] + step * v
    return moved


def difference(f: Callable[[Arrays], Any], arguments: Arrays, tangents: Arrays) -> Any:
    """The derivative along the tangents by central differences of fourth order."""
    h = 1e-3

    def by(step: float) -> Any:
        up, down = f(along(arguments, tangents, step)), f(along(arguments, tangents, -step))
        return (np.asarray(up) - np.asarray(down)) / (2 * step)

    return (4 * by(h / 2) - by(h)) / 3


def projected(sample: Sample, weights: Arrays) -> Callable[..., Any]:
    """The sample as a real scalar: its results weighted and summed."""

    def scalar(*arguments: Any) -> Any:
        results = leaves(sample.function(*arguments))
        return sum(np.sum(np.real(w * y)) for w, y in zip(weights, results, strict=True))

    return scalar


def weights_of(sample: Sample, arguments: Arrays) -> Arrays:
    rng = np.random.default_rng(7)
    results = leaves(sample.function(*arguments))
    weights = [direction(y, rng) for y in results]
    pairs = zip(weights, results, strict=True)
    return [np.asarray(w).astype(np.asarray(y).dtype)[()] for w, y in pairs]


def paired(cotangents: Arrays, tangents: Arrays) -> float:
    """The change along the tangents that a gradient gives (see `grad` for complex numbers)."""
    return float(sum(np.sum(np.real(g * v)) for g, v in zip(cotangents, tangents, strict=True)))


def tangents_of(arguments: Arrays) -> Arrays:
    rng = np.random.default_rng(11)
    return [direction(arguments[i], rng) for i in numbers(arguments)]


def assert_same(got: Any, want: Any, ulps: float = 32) -> None:
    """Check for the same dtype and shape, and equal values up to rounding."""
    for g, w in zip(leaves(got), leaves(want), strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        if w.dtype.kind in "fc":
            eps = ulps * np.finfo(w.dtype).eps
            scale = np.max(np.abs(w), initial=0.0, where=np.isfinite(w))
            np.testing.assert_allclose(g, w, rtol=eps, atol=eps * scale)
        else:
            np.testing.assert_array_equal(g, w)


def in_single(arguments: Arrays) -> Arrays:
    narrow = {"f": np.float32, "c": np.complex64}
    return [np.asarray(x).astype(narrow.get(np.asarray(x).dtype.kind, np.asarray(x).dtype))[()]
            for x in arguments]  # fmt: skip


# -- values -------------------------------------------------------------------


@pytest.mark.sampled(2)
@each(SAMPLES)
def test_value(sample: Sample) -> None:
    arguments = sample.draw()
    want = sample.function(*map(np.copy, arguments))
    assert_same(autojit.trace(sample.function)(*arguments)(*arguments), want)
    if not sample.order:  # the others are compiled with their gradients
        assert_same(autojit.jit(sample.function)(*arguments), want)


@pytest.mark.sampled(2)
@each(DIFFERENTIABLE)
def test_single_precision(sample: Sample) -> None:
    arguments = in_single(sample.draw())
    want = sample.function(*arguments)
    program = autojit.trace(sample.function)(*arguments)
    assert_same(program(*arguments), want, ulps=256)
    scalar = projected(sample, weights_of(sample, arguments))
    with autojit.disable_jit():
        gradients = autojit.grad(scalar, numbers(arguments))(*arguments)
    for i, g in zip(numbers(arguments), gradients, strict=True):
        assert (g.dtype, g.shape) == (arguments[i].dtype, arguments[i].shape)


# -- first derivatives --------------------------------------------------------


@pytest.mark.sampled(2)
@each(DIFFERENTIABLE)
def test_first_derivative(sample: Sample) -> None:
    arguments = sample.draw()
    tangents, wrt = tangents_of(arguments), numbers(arguments)
    want = leaves(difference(lambda a: _flat(sample.function(*a)), arguments, tangents))
    program = autojit.trace(sample.function)(*arguments)
    forward = leaves(jvp(program, wrt)(*arguments, *tangents))
    got = _flat(forward[len(program.outputs) :])
    np.testing.assert_allclose(got, want[0] if len(want) == 1 else want, rtol=1e-8, atol=1e-9)
    weights = weights_of(sample, arguments)
    with autojit.disable_jit():
        gradients = autojit.grad(projected(sample, weights), wrt)(*arguments)
    assert [np.shape(g) for g in gradients] == [np.shape(arguments[i]) for i in wrt]
    assert [g.dtype for g in gradients] == [np.asarray(arguments[i]).dtype for i in wrt]
    change = float(np.sum(np.real(_flat(weights) * got)))
    assert paired(gradients, tangents) == pytest.approx(change, rel=1e-11, abs=1e-12)


def _flat(results: Any) -> Any:
    return np.concatenate([np.ravel(r) for r in leaves(results)])


@pytest.mark.sampled(2)
@each([s for s in DIFFERENTIABLE if s.holomorphic])
def test_complex_step(sample: Sample) -> None:
    arguments = sample.draw()
    tangents, wrt = tangents_of(arguments), numbers(arguments)
    if any(map(np.iscomplexobj, arguments)):
        # Complex already: the derivative is complex linear, so J(iv) = i J v.
        program = autojit.trace(sample.function)(*arguments)
        forward = jvp(program, wrt)
        plain = _flat(forward(*arguments, *tangents)[len(program.outputs) :])
        turned = [1j * v for v in tangents]
        got = _flat(forward(*arguments, *turned)[len(program.outputs) :])
        np.testing.assert_allclose(got, 1j * plain, rtol=1e-13, atol=1e-14)
        return
    h = 1e-30
    want = [np.imag(y) / h for y in leaves(sample.function(*along(arguments, tangents, 1j * h)))]
    weights = weights_of(sample, arguments)
    with autojit.disable_jit():
        gradients = autojit.grad(projected(sample, weights), wrt)(*arguments)
    change = sum(float(np.sum(w * d)) for w, d in zip(weights, want, strict=True))
    assert paired(gradients, tangents) == pytest.approx(change, rel=1e-12, abs=1e-13)


@pytest.mark.sampled(24)
@each(DIFFERENTIABLE)
def test_compiled_gradient(sample: Sample) -> None:
    arguments = sample.draw()
    wrt = numbers(arguments)
    weights = weights_of(sample, arguments)

    def both(*arguments: Any) -> Any:
        derived = autojit.value_and_grad(with_results, wrt, has_aux=True)
        (_, results), gradients = derived(*arguments)
        return *leaves(results), *gradients

    def with_results(*arguments: Any) -> Any:
        results = sample.function(*arguments)
        terms = zip(weights, leaves(results), strict=True)
        return sum(np.sum(np.real(w * y)) for w, y in terms), results

    with autojit.disable_jit():
        want = both(*arguments)
    assert_same(autojit.jit(both)(*arguments), want)
    plain = leaves(sample.function(*map(np.copy, arguments)))
    assert_same(list(want[: len(plain)]), plain)


@pytest.mark.sampled(2)
@each([s for s in DIFFERENTIABLE if s.torch])
def test_against_torch(sample: Sample) -> None:
    torch = pytest.importorskip("torch")
    arguments = sample.draw()
    weights = weights_of(sample, arguments)
    tensors = [torch.tensor(x, requires_grad=True) for x in arguments]
    value = sample.torch(torch, *tensors)
    assert sample.torch is not None
    (value * torch.tensor(weights[0])).sum().backward()
    want = [t.grad.numpy() for t in tensors]
    with autojit.disable_jit():
        got = autojit.grad(projected(sample, weights), numbers(arguments))(*arguments)
    np.testing.assert_allclose(
        autojit.trace(sample.function)(*arguments)(*arguments), value.detach(), rtol=1e-13
    )
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-13)


# -- second derivatives -------------------------------------------------------


def second_order(sample: Sample, arguments: Arrays) -> tuple[Program, Program, Program]:
    """The gradient, and its derivative along tangents: by forward mode, and by reverse mode."""
    wrt = numbers(arguments)
    n = len(wrt)
    traced = autojit.trace(projected(sample, weights_of(sample, arguments)))(*arguments)
    first = gradient(traced, wrt, keep_outputs=False)
    forward = jvp(first, wrt)

    def slope(*everything: Any) -> Any:
        arguments, tangents = everything[:-n], everything[-n:]
        gradients = autojit.grad(scalar, wrt)(*arguments)
        return sum(np.sum(np.real(g * v)) for g, v in zip(gradients, tangents, strict=True))

    scalar = projected(sample, weights_of(sample, arguments))
    reverse = autojit.trace(autojit.grad(slope, wrt))(*arguments, *tangents_of(arguments))
    return first, forward, reverse


@pytest.mark.sampled(4)
@each(TWICE)
def test_second_derivative(sample: Sample) -> None:
    arguments = sample.draw()
    tangents = tangents_of(arguments)
    first, forward, reverse = second_order(sample, arguments)
    n = len(tangents)
    want = difference(lambda a: _flat(first(*a)), arguments, tangents)
    by_forward = _flat(forward(*arguments, *tangents)[n:])
    by_reverse = _flat(leaves(reverse(*arguments, *tangents)))
    np.testing.assert_allclose(by_forward, want, rtol=1e-7, atol=1e-8)
    scale = np.max(np.abs(by_forward), initial=1.0)
    np.testing.assert_allclose(by_reverse, by_forward, rtol=1e-10, atol=1e-12 * scale)


# -- the table itself ---------------------------------------------------------


def ops_of(program: Program) -> set[str]:
    return {op.kind.name for op in program.ops}


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Any]]:
    """Record the NumPy functions and ufuncs that autojit answers inside the block."""
    seen: set[Any] = set()
    find, call, reduce = ufunc_plans.find_answer, registry.call_function, ufuncs.call_ufunc

    def find_answer(ufunc: Any) -> Any:
        seen.add(ufunc)
        return find(ufunc)

    class Recording(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            seen.add(key)
            return super().get(key, default)

    with monkeypatch.context() as patch:
        for module in (ufunc_plans, ufuncs):
            patch.setattr(module, "find_answer", find_answer)
        patch.setattr(registry, "FUNCTIONS", Recording(registry.FUNCTIONS))
        ufunc_plans.plan.cache_clear()
        ufunc_plans._answer_for.cache_clear()
        yield seen
    now = ufunc_plans.find_answer, registry.call_function, ufuncs.call_ufunc
    assert now == (find, call, reduce)


def test_every_op_has_a_sample() -> None:
    reached: set[str] = set()
    for sample in SAMPLES:
        arguments = sample.draw()
        program = autojit.trace(sample.function)(*arguments)
        reached |= ops_of(program)
        if sample.order and any(t.is_inexact for t in program.out_types):
            reached |= ops_of(jvp(program, numbers(arguments)))
            scalar = projected(sample, weights_of(sample, arguments))
            reached |= ops_of(autojit.trace(autojit.grad(scalar, numbers(arguments)))(*arguments))
    # One is known by its transpose alone, one calls Python (tests/autojit/callbacks), and
    # schedules make the last one of sorts (tests/codegen/scheduling/test_selected.py).
    never_run = {"custom_linear", "callback", "order_statistics"}
    assert set(REGISTRY) - reached == never_run, "add a row to tests/samples"


def test_every_numpy_function_has_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.load()
    with recorded(monkeypatch) as seen:
        for sample in SAMPLES:
            autojit.trace(sample.function)(*sample.draw())
    named = {f for f in (*ANSWERS, *ufunc_plans.COMPOSITES) if not isinstance(f, str)}
    special = {f for f in ufunc_plans._special_ufuncs(True)}
    by_values = {selecting.__name__, masks.__name__}
    of_values = {f for f, g in registry.FUNCTIONS.items() if g.__module__ in by_values}
    waiting = {f for f in NEEDS if not is_runnable(f)}
    missing = (set(registry.FUNCTIONS) | named | special) - seen - of_values - waiting
    assert sorted(map(registry._name_of, missing)) == [], "add a row to tests/samples"


def test_names_are_unique() -> None:
    names = [s.name for s in SAMPLES]
    assert sorted(names) == sorted(set(names))


def test_the_checks_see_a_wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Sample("wrong", lambda x: np.sqrt(x) * x, SAMPLES[3].arguments, holomorphic=True)
    for check in (test_first_derivative, test_complex_step, test_second_derivative):
        check(wrong)
    rules = list(arithmetic.mul.rules)
    rules[0] = rules[1] = lambda t, y, a, b: t * b
    with monkeypatch.context() as patch:
        patch.setattr(arithmetic.mul, "rules", tuple(rules))
        transform_cache.clear()
        for check in (test_first_derivative, test_complex_step, test_second_derivative):
            with pytest.raises(AssertionError):
                check(wrong)
    transform_cache.clear()
