"""Results of compiled functions whose structure and shapes depend on values."""

from __future__ import annotations

import collections
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest

from autojit import errors, grad, jit, jvp, value_and_grad, vjp, vmap

from .outcomes import function_from

X = np.array([1.0, -2.0, 3.0, 4.0, -5.0])
Y = np.arange(12.0).reshape(3, 4)


def assert_equal(a: Any, b: Any) -> None:
    """Assert that two results have the same structure, types of containers, and numbers."""
    if isinstance(b, (int, float, complex, np.number, np.ndarray, bool)):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=0)
        return
    assert type(a) is type(b)
    if isinstance(b, dict):
        assert list(a) == list(b)
        assert [type(k) for k in a] == [type(k) for k in b]
        a, b = list(a.values()), list(b.values())
    elif isinstance(b, Pair):
        a, b = [a.first, a.second], [b.first, b.second]
    elif not isinstance(b, (list, tuple, collections.deque)):
        assert a == b
        return
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert_equal(x, y)


# -- lists, and arrays of traced length -------------------------------------------------------


def primes(n: Any) -> Any:
    found: list[Any] = []
    for k in range(2, n):
        if all(k % p for p in found):
            found.append(k)
    return found


def halves(x: Any) -> Any:
    """Pairs of numbers, and an array of each."""
    found, rows = [], []
    while x > 1:
        x = x / 2
        found.append((x, x > 2))
        rows.append(x * np.array([1.0, 2.0]))
    return found, {"rows": rows}


def last_odd(n: Any) -> Any:
    found: Any = collections.deque(maxlen=3)
    for i in range(n):
        if i % 2:
            found.append(i)
    return found


def known_and_counted(n: Any) -> Any:
    found = [0.5, 1]
    for i in range(n):
        found.append(i)
    return found


def rows_of(x: Any, n: Any) -> Any:
    return [x[x > 0], x[:n], x[n::-1], np.flatnonzero(x > 2), x[:n][x[:n] > 0]]


def of_a_matrix(y: Any, n: Any) -> Any:
    return y[:n, ::2], y[y.sum(axis=1) > 10], y[y > 3], np.nonzero(y > 3), y[n:, 1:n]


# -- None, texts, dicts -------------------------------------------------------------------------


class Kind(Enum):
    REAL = 1
    COMPLEX = 2


def roots(a: Any, b: Any, c: Any) -> Any:
    d = b * b - 4 * a * c
    if d < 0:
        return None
    return (-b + d**0.5) / (2 * a), (-b - d**0.5) / (2 * a)


def kind_of(b: Any, c: Any) -> Any:
    word = "one" if b * b == 4 * c else "two"
    kind = Kind.REAL
    if b * b < 4 * c:
        kind = Kind.COMPLEX
    return word, kind, b"known", {"sum": b + c}


def with_keys(x: Any) -> Any:
    d = {"x": x}
    if x > 0:
        d["root"] = x**0.5
    elif x < -1:
        d["none"] = None
    return d


def counted(xs: Any) -> Any:
    counts: dict[Any, Any] = {}
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
    return counts


def pairs_counted(n: Any) -> Any:
    counts: Any = collections.Counter()
    for i in range(n):
        counts[i % 3, i % 2] += i
    return counts


def checked(x: Any) -> None:
    if x < 0:
        raise ValueError(f"negative: {x}")


# -- different structures -----------------------------------------------------------------------


def solved(a: Any, b: Any, c: Any) -> Any:
    if a == 0:
        if b == 0:
            return []
        return [-c / b]
    d = b * b - 4 * a * c
    if d < 0:
        return {"real": -b / (2 * a), "imaginary": (-d) ** 0.5 / (2 * a)}
    return [(-b - d**0.5) / (2 * a), (-b + d**0.5) / (2 * a)]


def ohm(v: Any, i: Any, r: Any) -> Any:
    if (v == 0) + (i == 0) + (r == 0) != 1:
        raise ValueError("one must be 0")
    if v == 0:
        return {"voltage": float(i * r)}
    elif i == 0:
        return {"current": v / r}
    else:
        return {"resistance": v / i}


def anything(x: Any) -> Any:
    if x > 4:
        return None
    if x > 3:
        return [x]
    if x > 2:
        return "one", x
    if x > 1:
        return "text"
    if x > 0:
        return np.array([x, x])
    return np.array([x, x, x])


@dataclass
class Pair:
    first: Any
    second: Any


class Named(NamedTuple):
    first: Any
    second: Any


def in_classes(x: Any) -> Any:
    if x[0] > 0:
        return Pair(x[x > 0], "positive")
    return Named(x[0], [v for v in x if v > 0])


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (primes, (30,)), (primes, (2,)), (halves, (20.0,)), (halves, (0.0,)), (last_odd, (9,)),
    (last_odd, (1,)), (known_and_counted, (3,)), (known_and_counted, (0,)),
    (rows_of, (X, 3)), (rows_of, (-X, 0)), (rows_of, (X, 5)), (of_a_matrix, (Y, 2)),
    (of_a_matrix, (-Y, 0)), (roots, (1.0, 3.0, 2.0)), (roots, (1.0, 0.0, 2.0)),
    (kind_of, (2.0, 1.0)), (kind_of, (0.0, 1.0)), (with_keys, (4.0,)), (with_keys, (-2.0,)),
    (with_keys, (-0.5,)), (counted, ([3, 1, 3],)), (pairs_counted, (7,)), (pairs_counted, (0,)),
    (checked, (1.0,)), (solved, (0.0, 0.0, 1.0)), (solved, (0.0, 2.0, 1.0)),
    (solved, (1.0, 3.0, 2.0)), (solved, (1.0, 0.0, 1.0)), (ohm, (0.0, 2.0, 3.0)),
    (ohm, (3.0, 0.0, 2.0)), (ohm, (3.0, 2.0, 0.0)), (anything, (4.5,)), (anything, (3.5,)),
    (anything, (2.5,)), (anything, (1.5,)), (anything, (0.5,)), (anything, (-0.5,)),
    (in_classes, (X,)), (in_classes, (-X,)),
]  # fmt: skip


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_results_are_those_of_python(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    compiled = jit(f)
    for _ in range(2):  # the second call is that of native code
        assert_equal(compiled(*args), f(*args))


def test_arrays_of_a_result_own_their_memory() -> None:
    compiled = jit(halves)
    first = compiled(20.0)[1]["rows"][0]
    before = first.copy()
    compiled(30.0)
    assert first.base is None
    np.testing.assert_array_equal(first, before)


def test_exceptions_without_a_result() -> None:
    for f, args in ((checked, (-1.0,)), (ohm, (0.0, 0.0, 1.0))):
        with pytest.raises(ValueError, match=r"negative: -1.0|one must be 0"):
            jit(f)(*args)


def test_results_in_another_compiled_function() -> None:
    inner = jit(rows_of)
    assert jit(lambda x: sum(part.sum() for part in inner(x, 3)[:2]))(X) == X[X > 0].sum() + 2.0
    assert jit(lambda n: sum(jit(primes)(n)))(30) == 129
    assert jit(lambda a: 1.0 if jit(roots)(a, 0.0, 1.0) is None else 2.0)(1.0) == 1.0
    assert jit(lambda b: 1.0 if jit(kind_of)(b, 1.0)[0] == "two" else 2.0)(3.0) == 1.0
    assert jit(lambda x: jit(with_keys)(x).get("root", 7.0))(-1.0) == 7.0
    assert_equal(jit(lambda x: jit(with_keys)(x))(4.0), with_keys(4.0))


def test_gradients_go_through_such_parts() -> None:
    inner = jit(lambda x: (x[x > 0], [v * v for v in x if v < 0]))

    def loss(x: Any) -> Any:
        positive, squares = inner(x)
        return np.sum(positive**2) + sum(squares)

    np.testing.assert_array_equal(jit(grad(loss))(X), 2 * X)


def of_parts(found: Any) -> Any:
    """A smooth function of the numbers in a result, with Python's own functions."""
    if isinstance(found, dict):
        return sum((of_parts(x) * (1.0 + len(str(k))) for k, x in found.items()), 0.5)
    if isinstance(found, (list, tuple, collections.deque)):
        return sum((of_parts(x) * (1.0 + k) for k, x in enumerate(found)), 0.25)
    if isinstance(found, Pair):
        return of_parts(found.first)
    if found is None or isinstance(found, (str, bytes, Enum)):
        return 2.0
    return np.sum(np.sin(found))


def weighed(xs: Any) -> Any:
    weights: dict[Any, Any] = {}
    for k, x in enumerate(xs):
        weights[int(x) % 2, 1] = weights.get((int(x) % 2, 1), 0.0) + x * (k + 1)
    return weights


def lastly(x: Any) -> Any:
    found: Any = collections.deque(maxlen=2)
    for v in x:
        if v > 0:
            found.append((v, v * x))
    return found


#: Functions of floats whose results vary, with points at which they are smooth.
SMOOTH: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (halves, (20.5,)), (halves, (0.5,)), (lambda x: rows_of(x, 3)[:3], (X + 0.1,)),
    (roots, (1.0, 3.0, 2.0)), (roots, (1.0, 0.5, 2.0)), (kind_of, (2.0, 0.5)),
    (with_keys, (4.0,)), (with_keys, (-2.0,)), (with_keys, (-0.5,)), (solved, (1.0, 3.5, 2.0)),
    (solved, (1.0, 0.5, 1.0)), (anything, (4.5,)), (anything, (3.5,)), (anything, (2.5,)),
    (anything, (1.5,)), (anything, (0.5,)), (anything, (-0.5,)), (weighed, (X + 0.1,)),
    (lastly, (X + 0.1,)), (lastly, (-X + 0.1,)), (in_classes, (X + 0.1,)),
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("f", "args"), SMOOTH, ids=lambda x: getattr(x, "__name__", ""))
def test_derivatives_of_what_varies_where_values_are_at_hand(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    compiled = jit(f)

    def plain(x: Any) -> Any:
        return of_parts(f(x, *args[1:]))

    def loss(x: Any) -> Any:
        return of_parts(compiled(x, *args[1:]))

    x, h = np.asarray(args[0]) + 0.0, 1e-6
    steps = [h * e.reshape(x.shape) for e in np.eye(x.size)]
    wanted = [(plain(x + s) - plain(x - s)) / (2 * h) for s in steps]
    found = grad(loss)(x)
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-6)
    value, slopes = value_and_grad(loss)(x)
    np.testing.assert_allclose(value, plain(x), rtol=1e-12)
    np.testing.assert_allclose(slopes, found, rtol=1e-12)
    np.testing.assert_allclose(vjp(loss, x)[1](1.0)[0], found, rtol=1e-12)
    tangent = jvp(loss, (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(tangent, np.sum(found), rtol=1e-9)
    ahead, behind = (grad(loss)(x + 1e-5), grad(loss)(x - 1e-5))
    second = grad(lambda v: np.sum(grad(loss)(v)))(x)
    np.testing.assert_allclose(np.sum(second), np.sum(ahead - behind) / 2e-5, rtol=1e-4, atol=1e-4)


def test_known_parts_may_change_in_place() -> None:
    rows = jit(lambda x, n: [x * k for k in range(n)])

    def f(x: Any) -> Any:
        found = rows(x, 3)
        found[1] += found[2]
        found.append(found[1] ** 2)
        return sum(found).sum()

    np.testing.assert_allclose(grad(f)(X), 1 * (3 + 2) + 2 * 9 * X)


def test_pickled_functions_keep_the_forms_of_their_results() -> None:
    @jit
    def local(x: Any) -> Any:
        if x > 2:
            return [x]
        return "text"

    local(1.5)
    again = pickle.loads(pickle.dumps(local))
    assert again(1.5) == "text"
    assert_equal(again(3.5), [3.5])


def tail(x: Any) -> Any:
    return anything(x)


def asks(x: Any) -> Any:
    found = anything(x)
    return 1.0 if isinstance(found, list) else 2.0


def chooses(x: Any) -> Any:
    return roots if x > 0 else solved


def in_two_orders(x: Any) -> Any:
    d = {}
    if x > 0:
        d["a"] = x
        d["b"] = 1.0
    else:
        d["b"] = 1.0
        d["a"] = x
    return d


def nested(n: Any) -> Any:
    if n <= 0:
        return {"end": 1.0}
    return [nested(n - 1)]


@pytest.mark.parametrize(
    ("f", "args", "words"),
    [
        (tail, (2.5,), "The result of the function is f64"),
        (asks, (2.5,), "The result of the function is f64"),
        (chooses, (1.0,), "but not other objects"), (in_two_orders, (1.0,), "their order"),
        (nested, (3,), "The result is a dict with the keys"),
        (vmap(primes), (np.array([3, 4]),), "derivatives and batches need one shape"),
        (vmap(anything), (X,), "The result of the function is f64"),
        (vmap(roots, in_axes=(0, None, None)), (X, 0.0, 1.0), "derivatives|returns None"),
        (lambda x: jit(anything)(x), (1.0,), "returns results of different structure"),
        (lambda x: jit(counted)([x, 1])[1], (1,), "a dict with traced keys to another"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_what_is_refused(f: Callable[..., Any], args: tuple[Any, ...], words: str) -> None:
    with pytest.raises((errors.AutojitError, TypeError), match=words):
        jit(f)(*args)


class Returns:
    """Writes a function that returns one of several things on each of several ways."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []

    def text(self) -> str:
        self.put(0, "def f(x):")
        self.put(1, "found, d = [], {'a': x[0]}")
        self.put(1, "for v in x:")
        self.put(2, f"if v > {self.constant()}:")
        self.put(3, self.rng.choice(["found.append(v)", "found.append(2 * v)"]))
        self.put(1, f"if x[1] > {self.constant()}:")
        self.put(2, "d['b'] = x[2]")
        self.block(1, 3)
        return "\n".join(self.lines)

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def constant(self) -> float:
        return self.rng.choice([-1.5, -0.5, 0.0, 0.5, 1.5])

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randrange(depth)):
            self.put(indent, f"if x[{self.rng.randrange(4)}] > {self.constant()}:")
            self.block(indent + 1, depth - 1)
            if self.rng.random() < 0.4:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1)
        if indent == 1 or self.rng.random() < 0.7:
            self.put(indent, f"return {self.value(2)}")
        else:
            self.put(indent, "d['a'] = d['a'] + 1")

    def value(self, depth: int) -> str:
        simple = ["x[0]", "None", "found", "d", "x[x > 0.5]", "x[:int(x[3])]", "'text'", "x * 2",
                  "[x[1]]", "x[1] > 0", "len(found)"]  # fmt: skip
        if depth and self.rng.random() < 0.4:
            parts = [self.value(depth - 1) for _ in range(self.rng.randrange(1, 4))]
            inside = ", ".join(parts)
            return self.rng.choice([f"[{inside}]", f"({inside},)", f"{{'k': {parts[0]}}}"])
        return self.rng.choice(simple)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_returns(seed: int) -> None:
    text = Returns(seed).text()
    f = function_from("import numpy as np\n\n\n" + text, f"<returns {seed}>")
    compiled = jit(f)
    generator = np.random.default_rng(seed)
    for _ in range(6):
        x = np.append(generator.normal(size=3), generator.integers(0, 4))
        assert_equal(compiled(x), f(x))
