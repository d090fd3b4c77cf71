"""Few places that all threads update: each block has its own copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, trace
from autojit.codegen.cuda.device_program.nodes import Atomic, DeviceKernel, DeviceProgram, Share
from autojit.codegen.cuda.device_program.numbers import constant_scalar, loaded, scalar
from autojit.codegen.cuda.executor.coalescing import Coalescing
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.mapping.copies import with_copies
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from tests.codegen.cuda.running import SMALL, arguments_of, assert_same, check, mapped, run

RNG = np.random.default_rng(8)
TWO = Machine(processors=2)


def add(x: Any, places: Any, values: Any) -> Any:
    y = x.copy()
    np.add.at(y, places, values)
    return y


def own(device: DeviceProgram) -> list[Buffer]:
    return [b for k in device.launches if isinstance(k, DeviceKernel) for b in k.shared]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.float32, np.float64])
def test_sums_are_numpys(dtype: Any) -> None:
    x, places = np.arange(3).astype(dtype), RNG.integers(-3, 3, 300)
    values = RNG.integers(0, 9, 300).astype(dtype)
    device = check(trace(add)(x, places, values), [x, places, values])
    assert own(device)
    if dtype in (np.float32, np.float64):  # the same bits with other blocks and another order
        want = run(device, trace(add)(x, places, values), [x, places, values])
        order = RNG.permutation(300)
        program = trace(add)(x, places[order], values[order])
        again = run(mapped(program, TWO), program, [x, places[order], values[order]])
        assert want[0].tobytes() == again[0].tobytes()


def test_counts_and_gradients_of_gathers() -> None:
    places = RNG.integers(0, 4, 300)
    assert own(check(trace(lambda p: np.bincount(p, minlength=4))(places), [places]))
    x = RNG.normal(size=(2, 2))
    f = grad(lambda x: np.sum(np.sin(x[places % 2, places // 2])))
    assert own(check(trace(f)(x), [x]))


def test_untouched_places_keep_their_sign_of_zero() -> None:
    x, places = np.array([-0.0, 1.0], np.float32), np.ones(400, int)
    program = trace(add)(x, places, np.ones(400, np.float32))
    (found,) = run(mapped(program), program, [x, places, np.ones(400, np.float32)])
    assert np.signbit(found).tolist() == [True, False]


def test_many_places_and_few_updates_have_no_copies() -> None:
    n = 300
    for size, count in ((n, n), (10**5, 10**6), (1000, 10**5)):
        values = np.broadcast_to(np.int64(1), (count,))
        assert not own(mapped(trace(add)(np.zeros(size, int), values, values), Machine()))


def kernel(more: Callable[[Buffer, Var], list[Any]]) -> DeviceKernel:
    y, block, thread, n = Buffer("y", "i64", 2, "output"), Var(1), Var(8), Var(80)
    one = constant_scalar(1, "i64")
    update = Atomic(y, affine.divide(affine.of(n), 2, {})[1], (), "add", one.result)
    body = [one, Share(n, affine.of(thread), 80, 8, [update, *more(y, n)])]
    return DeviceKernel("k", "", 1, 8, block, thread, body, [y], warp=4)


@pytest.mark.parametrize(
    ("more", "has_copies"),
    [
        (lambda y, n: [], True),
        (lambda y, n: [loaded(y, affine.of(n))], False),
        (lambda y, n: [Atomic(y, Affine(0), (), "maximum", scalar("i64"))], False),
    ],
)
def test_what_is_legal(more: Any, has_copies: bool) -> None:
    found = with_copies(kernel(more))
    assert bool(found.shared) is has_copies


def test_what_the_copies_save() -> None:
    """Integers: a few atomic updates of global memory per block, and hardly any turns at banks."""
    n = 20_000
    for bins, atomics, turns in ((10, 160, 0.25), (256, 4096, 0.3)):
        places = RNG.integers(0, bins, n)
        program = trace(add)(np.zeros(bins, int), places, np.ones(n, int))
        arguments = arguments_of(program, [np.zeros(bins, int), places, np.ones(n, int)])
        counter, device = Coalescing(), mapped(program, TWO)
        found = execute(device, arguments, counter=counter)
        assert_same(found, [np.bincount(places, minlength=bins)])
        assert sum(counter.atomics.values()) <= atomics < n / 4
        assert sum(counter.turns.values()) <= turns * n
    assert SMALL.warp < TWO.warp
    assert any(isinstance(s, Atomic) for k in device.launches for s in walk(k.body))
