"""Python loops whose steps do not wait for each other become ops on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.ir.passes.reroll.reroll import roll
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify
from autojit.staging import unrolled

#: Loops that are captured are never unrolled.
pytestmark = pytest.mark.usefixtures("uncaptured")


def squares(a: Any, x: Any, y: Any) -> Any:
    t = 0.0
    for i in range(100):
        t += (y[i] - a * x[i]) ** 2
    return t


def assigned(x: Any) -> Any:
    out = np.zeros(100) * x[0]
    for i in range(100):
        out[i] = np.sin(x[i]) * x[99 - i]
    return np.sum(out**2)


def assigned_rows(x: Any) -> Any:
    out = np.zeros((50, 2)) * x[0]
    for i in range(50):
        out[49 - i, :] = np.sin(x[2 * i : 2 * i + 2]) * i
    return np.sum(out**3)


def assigned_with_a_stride(x: Any) -> Any:
    out = np.zeros(100) * x[0]
    for i in range(33):
        out[3 * i + 1] = np.sin(x[2 * i])
    return np.sum(out**3)


def assigned_blocks(x: Any) -> Any:
    out = np.zeros(100) * x[0]
    for i in range(25):
        out[4 * i : 4 * i + 4] = np.sin(x[4 * i : 4 * i + 4]) * x[4 * i]
    return np.sum(out**3 * np.arange(100))


def diagonals(m: Any) -> Any:
    t = 0.0
    for i in range(30):
        t = t + m[i, i] * np.exp(m[i, 29 - i]) - m[i, 3]
    return t


def windows(x: Any) -> Any:
    t = 0.0
    for i in range(60):
        t = t + np.sum(x[i : i + 5] * x[i + 3 : i + 13 : 2])
    return t


def blocks_with_a_rest(x: Any) -> Any:
    t = 0.0
    for i in range(20):
        t = t + np.sum(x[5 * i : 5 * i + 3] ** 2)  # ends before a full block
    return t


def blocks_at_the_end(x: Any) -> Any:
    t = 0.0
    for i in range(20):
        t = t + np.sum(np.sin(x[2 + 5 * i : 5 * i + 5]))
    return t


def interleaved(x: Any) -> Any:
    m = []
    for i in range(10):
        m.append(np.sum(np.sin(x[i::10][:10]) * x[i]))
    t = 0.0
    for v in m:
        t = t + v * v
    return t


def two_chains(x: Any) -> Any:
    t = x[0]
    u = 1.0
    for i in range(60):
        t = t - x[i] * x[i]
        u = x[i + 1] * 2 + u
    return t * u


def two_links(x: Any) -> Any:
    t = x[0]
    for i in range(60):
        t = t + x[i] * 3.0
        t = t - np.cos(x[i + 1])
    return t


def neuron_by_neuron(p: Any, x: Any) -> Any:
    at = 0
    for ins, outs in ((4, 12), (12, 9), (9, 1)):
        o = []
        for _j in range(outs):
            a = p[at + ins]
            for k in range(ins):
                a = a + p[at + k] * x[k]
            at += ins + 1
            o.append(np.tanh(a))
        x = o
    return x[0]


def rows_times_vector(m: Any, v: Any) -> Any:
    o = []
    for i in range(12):
        t = 0.0
        for j in range(9):
            t = t + m[i, j] * v[j]
        o.append(t)
    return np.sum(np.stack(o) ** 2)


def columns_times_vector(m: Any, v: Any) -> Any:
    o = []
    for j in range(9):
        t = 0.0
        for i in range(12):
            t = t + m[i, j] * v[i]
        o.append(t)
    return sum(o[k] ** 2 * k for k in range(9))


def matrices(a: Any, b: Any) -> Any:
    c = np.zeros((8, 9)) * a[0, 0]
    for i in range(8):
        for j in range(9):
            s = 0.0
            for k in range(10):
                s = s + a[i, k] * b[k, j]
            c[i, j] = s
    return np.sum(c**2)


def pairs(x: Any) -> Any:
    t = 0.0
    for i in range(12):
        for j in range(i):
            t = t + 1.0 / (1.0 + (x[i] - x[j]) ** 2)
    return t


def single_steps_read_later(x: Any) -> Any:
    t = 0.0
    ys = []
    for i in range(60):
        y = np.sin(x[i]) * 2.0
        t = t + y
        ys.append(y)
    return t * y + ys[3] * ys[30]


def partial(x: Any) -> Any:
    t = 0.0
    ts = []
    for i in range(60):
        t = t + np.sin(x[i])
        ts.append(t)
    return ts[5] * ts[30] * t


def mixed(x: Any) -> Any:
    h = 0.1
    t = 0.0
    for i in range(60):
        h = np.tanh(h * 0.5 + x[i])
        t = t + np.sin(x[i]) * h
    return t


def counted(x: Any) -> Any:
    t = 0
    for i in range(60):
        t = t + (x[i] > 0.2) * 1
    return np.sum(x) * t


def histogram(x: Any) -> Any:
    out = np.zeros(10) * x[0]
    for i in range(60):
        out[i % 10] += x[i] ** 2
    return np.sum(out**2)


def stencil(u: Any) -> Any:
    new = u * 1.0
    for i in range(1, 59):
        new[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
    return np.sum(new**2)


def gauss_seidel(u: Any) -> Any:
    v = u * 1.0
    for i in range(1, 59):
        v[i] = v[i] + 0.1 * (v[i - 1] - 2 * v[i] + v[i + 1])
    return np.sum(v**2)


def two_sums(x: Any, y: Any) -> Any:
    t = 0.0
    w = 0.0
    for i in range(60):
        t = t + x[i] * y[i]
        w = w + y[i]
    return t / w


def complex_numbers(x: Any) -> Any:
    t = 0.0
    for i in range(40):
        t = t + np.abs(x[i] * 1j + x[i + 1]) ** 2
    return t


def shared_window(x: Any) -> Any:
    out = np.zeros(70) * x[0]
    for i in range(60):
        out[i : i + 2] = np.sin(x[i : i + 2]) * (i + 1)
    return np.sum(out**2)


def distances(p: Any) -> Any:
    """The inner loop begins again at the same rows; steps of the outer one are even too."""
    t = 0.0
    for i in range(12):
        for j in range(12):
            t = t + np.sqrt((p[i, 0] - p[j, 0]) ** 2 + (p[i, 1] - p[j, 1]) ** 2 + 1e-3)
    return t


def unit_vectors(x: Any) -> Any:
    """What is replaced is the same number, or one of the step, in a new array each time."""
    t = 0.0
    for i in range(20):
        e, d = np.zeros(20), np.zeros(20)
        e[i] = x[0]
        d[i] = x[i] * 2
        t = t + np.sum(np.sin(x[:20] * e) + d**2)
    return t


def element_of_the_step(x: Any) -> Any:
    """An array of each step, read at another place in each."""
    t = 0.0
    for i in range(15):
        y = np.sin(x[:20] * x[i])
        t = t + y[i] * y[19 - i]
    return t


RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 1.0, 101)
Y = X[::-1].copy()
MATRIX = RNG.normal(size=(12, 10))
#: A function, its arguments, and how many operations at most its trace has.
ROWS: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = [
    (squares, (1.3, X, Y), 12),
    (assigned, (X[:100],), 12),
    (assigned_rows, (X[:100],), 20),
    (assigned_with_a_stride, (X[:100],), 12),
    (assigned_blocks, (X[:100],), 12),
    (diagonals, (RNG.normal(size=(30, 30)),), 70),
    (windows, (X,), 35),
    (blocks_with_a_rest, (X[:98],), 10),
    (blocks_at_the_end, (X[:100],), 10),
    (interleaved, (X[:100],), 50),
    (two_chains, (X,), 26),
    (two_links, (X,), 14),
    (neuron_by_neuron, (RNG.normal(size=12 * 5 + 9 * 13 + 10), X[:4]), 44),
    (rows_times_vector, (MATRIX[:, :9], X[:9]), 12),
    (columns_times_vector, (MATRIX[:, :9], X[:12]), 64),
    (matrices, (MATRIX[:8], MATRIX[:10, :9]), 50),
    (single_steps_read_later, (X,), 18),
    (two_sums, (X, Y), 20),
    (counted, (X,), 14),
    (histogram, (X,), 70),
    (stencil, (X[:60],), 18),
    (complex_numbers, (X,), 15),
    (unit_vectors, (X,), 50),
    (element_of_the_step, (X,), 50),
    (distances, (RNG.normal(size=(12, 2)),), 130),
]
LOOPS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (partial, (X,)),
    (mixed, (X,)),
    (gauss_seidel, (X[:60],)),
    (shared_window, (X,)),
    (pairs, (X[:12],)),
]


@pytest.fixture
def eager_to_roll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled, "LEAST_OPS", 60)
    monkeypatch.setattr(unrolled, "LEAST_LOOP", 200)


def check(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Compare values and gradients with those of the function as it was traced."""
    everything = tuple(range(len(arguments)))
    got = jit(function)(*arguments), *jit(grad(function, everything))(*arguments)
    with pytest.MonkeyPatch.context() as patch, autojit.disable_jit():
        patch.setattr(unrolled, "roll", lambda program, is_body: program)
        wanted = function(*arguments), *grad(function, everything)(*arguments)
    for a, b in zip(got, wanted, strict=True):
        assert np.max(np.abs(a - b)) <= 1e-12 * np.max(np.abs(b))


@pytest.mark.sampled(10)
@pytest.mark.usefixtures("eager_to_roll")
@pytest.mark.parametrize(
    ("function", "arguments", "most"), ROWS, ids=lambda c: getattr(c, "__name__", "")
)
def test_steps_that_do_not_wait_become_arrays(
    function: Callable[..., Any], arguments: tuple[Any, ...], most: int
) -> None:
    program = autojit.trace(function)(*arguments)
    verify(program)
    assert len(program.ops) <= most
    assert all(op.kind.name != "scan" for op in program.ops)
    check(function, arguments)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("eager_to_roll")
@pytest.mark.parametrize(("function", "arguments"), LOOPS, ids=lambda c: getattr(c, "__name__", ""))
def test_steps_that_wait_stay_loops(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    program = autojit.trace(function)(*arguments)
    verify(program)
    assert function is pairs or any(op.kind.name == "scan" for op in program.ops)
    check(function, arguments)


@pytest.mark.usefixtures("eager_to_roll")
def test_counting_down_in_unsigned_integers() -> None:
    def f(x: Any, n: Any) -> Any:
        total = 0.0
        for i in range(40):
            total = total + np.sum((n + np.uint8(100 - i)) * x)
        return total

    check(lambda x: f(x, np.arange(3, dtype=np.uint8)), (X[:3],))


def test_large_steps_stay_apart() -> None:
    """Steps with large arrays stay separate: an array of all steps would take much memory."""

    def f(x: Any, w: Any) -> Any:
        total = np.sin(x)
        for k in range(40):
            total = total + np.sin(x * w[k]) * np.cos(x + w[k])
        return np.sum(total)

    program = autojit.trace(f)(np.ones(100_000), np.ones(40))
    assert max(v.type.size for op in program.ops for v in op.results) == 100_000


def test_a_network_of_single_numbers_is_one_of_matrices() -> None:
    p, x = RNG.normal(size=20 * 31 + 21), RNG.normal(size=30)

    def by_numbers(p: Any, x: Any) -> Any:
        out = []
        for j in range(20):
            act = p[31 * j + 30]
            for k in range(30):
                act = act + p[31 * j + k] * x[k]
            out.append(np.maximum(act, 0.0))
        total = p[640]
        for k in range(20):
            total = total + p[620 + k] * out[k]
        return total

    program = autojit.trace(by_numbers)(p, x)
    assert [op.kind.name for op in program.ops].count("dot") == 2
    weights = p[:620].reshape(20, 31)
    hidden = np.maximum(weights[:, :30] @ x + weights[:, 30], 0.0)
    assert jit(by_numbers)(p, x) == pytest.approx(p[640] + p[620:640] @ hidden, rel=1e-12)


def test_long_chains_within_a_step() -> None:
    """A neuron of 600 inputs is a chain of 1,200 operations."""
    p, x = RNG.normal(size=8 * 601), RNG.normal(size=600)

    def by_numbers(p: Any, x: Any) -> Any:
        out = []
        for j in range(8):
            act = p[601 * j + 600]
            for k in range(600):
                act = act + p[601 * j + k] * x[k]
            out.append(np.tanh(act))
        return sum(out)

    weights = p.reshape(8, 601)
    wanted = np.sum(np.tanh(weights[:, :600] @ x + weights[:, 600]))
    assert jit(by_numbers)(p, x) == pytest.approx(wanted, rel=1e-11)


# -- random loops ---------------------------------------------------------------------


def random_loop(seed: int) -> Callable[[Any, Any], Any]:
    """Steps that read parts of x and m in many ways, and add to sums or replace windows."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(8, 15))
    unary = [np.sin, np.tanh, np.negative, lambda v: v * 0.5, lambda v: np.maximum(v, 0.1)]
    binary = [np.add, np.subtract, np.multiply, lambda a, b: a + b * 2.0]
    by, start = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    width, stride = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    reads = [
        lambda x, m, t, lists: x[start + by * t],
        lambda x, m, t, lists: x[60 - by * t],
        lambda x, m, t, lists: x[7],
        lambda x, m, t, lists: np.sum(x[start + by * t :][: width * stride : stride]),
        lambda x, m, t, lists: np.sum(x[50 - by * t :][:width] * m[t, :width]),
        lambda x, m, t, lists: m[t, t],
        lambda x, m, t, lists: m[2 * t % 16, 1],
        lambda x, m, t, lists: np.sum(m[t] * m[:, 15 - t]),
        lambda x, m, t, lists: m[3, t] * (1.0 + 0.25 * t),
        lambda x, m, t, lists: lists[t],
        lambda x, m, t, lists: lists[-2],
        lambda x, m, t, lists: np.sum(x[t::16][:3] * x[:3]),
    ]
    n_ops, n_sums = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    picks = [(int(rng.integers(len(reads))), int(rng.integers(len(unary)))) for _ in range(n_ops)]
    joins = [int(rng.integers(len(binary))) for _ in range(n_ops)]
    signs = [int(rng.integers(3)) for _ in range(n_sums)]
    window, replaced = int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    waits, odd = bool(rng.random() < 0.2), int(rng.integers(steps)) if rng.random() < 0.2 else -1

    def function(x: Any, m: Any) -> Any:
        lists = [np.cos(x[3 * i % 50]) for i in range(16)]  # and what the steps compute
        sums: list[Any] = [x[0], 0.5, x[1] * x[2]][:n_sums]
        out = m[0] * np.ones(16) if window * steps > 45 else np.zeros(45) * x[0]
        kept = []
        for t in range(steps):
            value = x[5] if t == odd else x[6]
            for (read, one), join in zip(picks, joins, strict=True):
                value = binary[join](value, unary[one](reads[read](x, m, t, lists)))
            for k, sign in enumerate(signs):
                if sign == 0:
                    sums[k] = sums[k] + value * (k + 1.0)
                elif sign == 1:
                    sums[k] = sums[k] - np.sin(value)
                else:
                    sums[k] = value * m[t, k] + sums[k]
            if waits:
                sums[0] = sums[0] * 0.9
            if replaced and len(out) == 45:
                out[window * t : window * t + window] = x[t : t + window] * value
            kept.append(value)
            lists.append(value * 0.5)
        return sum(sums) + np.sum(out**2) + kept[0] * kept[-1] + kept[steps // 2]

    return function


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(0, 200, 25))
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled, "LEAST_OPS", 10**9)
    arrays = 0
    for s in range(seed, seed + 25):
        rng = np.random.default_rng(s)
        x, m = rng.uniform(-1.0, 1.0, 80), rng.uniform(-1.0, 1.0, (16, 16))
        function = random_loop(s)
        program = autojit.trace(function)(x, m)
        made = roll(program, 16, 16)
        verify(made)
        arrays += len(made.ops) < len(program.ops) / 3
        (got,) = interpret(made, [x, m, *made.captured])
        (wanted,) = interpret(program, [x, m])
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-13, err_msg=f"seed {s}")
    assert arrays > 5
