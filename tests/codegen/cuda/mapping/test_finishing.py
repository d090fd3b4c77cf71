"""Elementwise kernels that the threads of a product run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import trace
from autojit.codegen.cuda.device_program.traffic import traffic
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.loop_text.parse import parse_loops
from tests.codegen.cuda.running import SMALL, check, mapped

RNG = np.random.default_rng(3)
X, W, B = RNG.normal(size=(35, 33)), RNG.normal(size=(33, 38)), RNG.normal(size=38)


def names(f: Callable[..., Any], *arguments: Any) -> list[str]:
    return [k.name for k in check(trace(f)(*arguments), arguments).launches]


@pytest.mark.parametrize(
    ("f", "arguments"),
    [
        (lambda x, w, b: np.maximum(x @ w + b, 0), (X, W, B)),
        (lambda x, w, b: (x @ w, np.tanh(x @ w + b)), (X, W, B)),  # the product is a result, too
        (lambda x, w: (x @ w) * 2j, (X, W)),
        (lambda x, w: np.abs(x @ w), (X + 1j * X, W + 2j)),
        (lambda x, w, b: np.exp(x @ w) * b, (RNG.normal(size=(3, 35, 33)), np.stack([W] * 3), B)),
        (lambda x, w: np.exp(x @ w), (X.astype("f4"), W.astype("f4"))),
        (lambda x, w: (x @ w).reshape(5, 7, 38) * np.arange(7)[:, None], (X, W)),
    ],
)
def test_what_follows_is_done_by_the_same_launch(f: Any, arguments: Any) -> None:
    assert names(f, *arguments) == ["product0"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: (x @ w)[::-1] * 1.5,  # a different element in each iteration
        lambda x, w: np.sum(np.tanh(x @ w)),  # iterations that are summed
        lambda x, w: (x @ w)[:, 1:] - (x @ w)[:, :-1],
        lambda x, w: np.cumsum(x @ w, 1),
    ],
)
def test_other_steps_stay_launches_of_their_own(f: Any) -> None:
    assert len(names(f, X, W)) > 1


def test_layers_that_would_lie_where_their_operands_do() -> None:
    """Without fusion, a layer's result takes the memory of the previous layer's operand."""
    w = np.stack([RNG.normal(size=(40, 40)) for _ in range(4)])

    def layers(x: Any) -> Any:
        for each in w:
            x = np.tanh(x @ each)
        return x

    device = check(trace(layers)(w[0]), [w[0]])
    assert [k.name for k in device.launches] == [f"product{n}" for n in range(0, 8, 2)]
    assert len(device.loops.temps) == 3
    assert device.loops.arena == 2 * 40 * 40 * 8


LOOPS = """loops main:
  input in0: f64[1600]
  input in1: f64[1600]
  output out0: f64[1600]
  output out1: f64[1600]
  temp t0: f64[1600] at byte 0
  t0 = in0 @ in1 {{[40,40] @ [40,40], BLAS}}
  kernel k1:
    for i in 0..1600:
      s0 = t0[{place}]
      s1 = s0 + s0
      {target}[i] = s1
"""


@pytest.mark.parametrize(
    ("place", "target", "is_one"),
    [
        ("i", "out0", True),
        ("-i + 1599", "out0", False),
        ("i", "in0", False),  # other blocks still read the operands
        ("i", "t0", False),
    ],
)
def test_what_is_legal(place: str, target: str, is_one: bool) -> None:
    device = device_program(parse_loops(LOOPS.format(place=place, target=target)), SMALL)
    assert (len(device.launches) == 1) is is_one


def test_the_product_moves_nothing_twice() -> None:
    n = 512
    x = np.broadcast_to(np.zeros(()), (n, n))
    device = mapped(trace(lambda a, b, c: np.maximum(a @ b + c, 0))(x, x, x[0]), Machine())
    (kernel,) = device.launches
    assert {b.kind for b in kernel.buffers} == {"input", "output"}
    assert traffic(kernel).total == (3 * n * n + n) * 8
