"""What an operation of a long graph costs, counted, and programs as straight Python."""

import gc
import sys

import numpy as np
import pytest

import autojit as aj
from autojit import torch
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret
from autojit.torch.engine import running
from autojit.torch.engine.modes import modes
from autojit.torch.engine.rules import _evaluation
from autojit.torch.engine.running import straight

LONG = 1000


def chain(x, steps):
    for _ in range(steps // 2):
        x = x * 0.999 + 0.001
    return x


def calls_of(f):
    """How many Python functions f() calls."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        f()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "start", [pytest.param(2.0, marks=pytest.mark.slow), [1.0, 2.0, 3.0]], ids=["number", "array"]
)
@pytest.mark.slow
def test_an_operation_of_a_chain_costs_few_calls_and_objects(start):
    x = torch.tensor(start, requires_grad=True, dtype=torch.float64)
    chain(x, LONG).sum().backward()  # derives the rules
    x.grad = None
    made = []
    assert calls_of(lambda: made.append(chain(x, LONG))) < 16 * LONG
    y = made.pop().sum()
    assert calls_of(y.backward) < 6 * LONG
    np.testing.assert_allclose(x.grad.numpy(), np.full(x.shape, 0.999 ** (LONG // 2)), rtol=1e-13)
    gc.collect()
    before = len(gc.get_objects())
    y = chain(x, LONG)
    gc.collect()  # it takes off its list what refers to nothing that it looks at
    gc.collect()
    assert len(gc.get_objects()) - before < 2.2 * LONG  # a node and its edges


def test_what_looks_on_in_the_middle_of_a_chain_is_told():
    x = torch.tensor([1.0, 2.0], requires_grad=True, dtype=torch.float64)
    a = chain(x, 20)
    b = chain(a, 20)
    a.retain_grad()
    seen = []
    a.register_hook(lambda g: seen.append(g.numpy().copy()))
    b.grad_fn.register_hook(lambda given, taken: (given[0] * 2, None))
    y = chain(b, 20).sum()
    with torch.no_grad():
        free = chain(b, 4)
    assert not free.requires_grad
    y.backward()
    d = 0.999**10
    np.testing.assert_allclose(seen[0], [2 * d * d] * 2, rtol=1e-13)
    np.testing.assert_allclose(a.grad.numpy(), seen[0])
    np.testing.assert_allclose(x.grad.numpy(), [2 * d**3] * 2, rtol=1e-13)


def test_a_hook_may_ask_for_anomalies_from_there_on():
    x = torch.tensor(0.0, requires_grad=True, dtype=torch.float64)
    y = torch.sqrt(x * 1.0) * 0.0
    z = y * 2.0

    def hook(g):
        torch.autograd.set_detect_anomaly(True)

    y.register_hook(hook)
    try:
        with pytest.raises(RuntimeError, match=r"'SqrtBackward0' returned nan values in its 0th"):
            z.backward()
    finally:
        torch.autograd.set_detect_anomaly(False)


@pytest.mark.parametrize(
    "context",
    [
        torch.no_grad,
        torch.inference_mode,
        torch.autograd.detect_anomaly,
        lambda: torch.set_grad_enabled(False),
        lambda: torch.autograd.set_detect_anomaly(True),
    ],
)
def test_modes_are_usual_outside_of_contexts_alone(context):
    assert modes.usual
    with context():
        assert not modes.usual
        with torch.enable_grad():
            assert modes.usual == (not modes.anomaly)
        assert not modes.usual
    assert modes.usual
    with pytest.raises(ZeroDivisionError), context():
        _ = 1 / 0
    assert modes.usual


def program_of(f, *arguments):
    traced = aj.trace(f)(*arguments)
    assert isinstance(traced, Program)
    return traced


G = np.array([[1.5, -2.0, 3.0], [0.1, 0.2, 0.3]])
ROW, COLUMN, NUMBER = np.array([0.3, -0.7, 1.9]), np.array([2.0, -3.0]), np.array(0.37)


def also_a_result(g, c):
    wide = np.broadcast_to(c, (2, 3))
    return g * wide, wide


H = G.astype(np.float16)


@pytest.mark.parametrize(
    ("f", "arguments", "implied"),
    [
        (lambda g, c: g * np.broadcast_to(c, (2, 3)), (G, NUMBER), 1),
        (lambda g, c: g - np.broadcast_to(c, (2, 3)), (G, ROW), 1),
        (lambda g, c: g * np.broadcast_to(c[:, None], (2, 3)), (G, COLUMN), 0),
        (lambda c: np.broadcast_to(c, (2, 3)), (ROW,), 0),
        (also_a_result, (G, ROW), 0),
        (lambda c: np.square(np.broadcast_to(c, (2, 3))), (ROW,), 0),
        (lambda c, d: np.broadcast_to(c, (2, 3)) / np.broadcast_to(d, (2, 3)), (ROW, NUMBER), 1),
        (lambda g, c: g @ np.broadcast_to(c, (3, 3)), (G, ROW), 0),
        (lambda g, c: g * np.broadcast_to(c, (2, 3)), (H, H[0]), 0),
    ],
)
def test_a_program_written_straight_computes_the_same(f, arguments, implied):
    program = program_of(f, *arguments)
    assert len(running._implied(program)) == implied
    found = straight(program, _evaluation)(*arguments)
    for a, b in zip(found, interpret(program, arguments), strict=True):
        assert a.__class__ is np.ndarray
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)
