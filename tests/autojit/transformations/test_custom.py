"""Functions with derivatives of the user's, in every transformation; mistakes are named."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import autojit
from autojit import (
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    scan,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from autojit.errors import DerivativeError, DtypeError, NotArrayError, ShapeError, StructureError
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.verifier import verify
from autojit.testing import check_grads

X = np.array([0.3, -1.2, 2.0])


def softplus() -> Any:
    """log(1 + exp x), with a rule that calls the function itself."""

    @custom_jvp
    def log1pexp(x: Any) -> Any:
        return np.log(1 + np.exp(x))

    @log1pexp.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return log1pexp(x), t / (1 + np.exp(-x))

    return log1pexp


def scaled(factor: float = 3.0) -> Any:
    """x * y, whose rules multiply all by a factor, so that they are seen to be used."""

    @custom_vjp
    def product(x: Any, y: Any) -> Any:
        return x * y

    def fwd(x: Any, y: Any) -> Any:
        return x * y, (x, y)

    def bwd(stored: Any, ct: Any) -> Any:
        x, y = stored
        return factor * ct * y, factor * ct * x

    product.defvjp(fwd, bwd)
    return product


def wrong_jvp(factor: float = 3.0) -> Any:
    """x ** 2 with the tangent 3 x t, so that the rule is seen to be used."""
    square = custom_jvp(lambda x: x * x)
    square.defjvp(lambda primals, tangents: (primals[0] ** 2, factor * primals[0] * tangents[0]))
    return square


# -- what they compute --------------------------------------------------------------


def test_outside_of_a_trace_the_function_is_plain() -> None:
    seen = []

    @custom_jvp
    def f(x: Any) -> Any:
        seen.append(type(x))
        return x + 1

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    assert f(1.0) == 2.0
    assert seen == [float]


@pytest.mark.parametrize("compiled", [True, False])
def test_the_rule_is_what_is_used(compiled: bool) -> None:
    f = wrong_jvp()
    if compiled:
        f = jit(f)
    assert f(2.0) == 4.0
    assert grad(f)(2.0) == 6.0
    assert jvp(f, (2.0,), (1.0,)) == (4.0, 6.0)
    assert jacfwd(f)(2.0) == jacrev(f)(2.0) == 6.0
    assert linearize(f, 2.0)[1](1.0) == 6.0
    assert grad(grad(f))(2.0) == jvp(grad(f), (2.0,), (1.0,))[1] == 3.0
    np.testing.assert_array_equal(vmap(grad(f))(X), 3 * X)
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(f)(x)))(X), 3 * X)


def test_the_backward_rule_is_what_is_used() -> None:
    f = scaled()
    assert jit(f)(2.0, 5.0) == 10.0
    assert grad(f, (0, 1))(2.0, 5.0) == (15.0, 6.0)
    assert jit(grad(f))(2.0, 5.0) == 15.0
    assert value_and_grad(f)(2.0, 5.0) == (10.0, 15.0)
    assert vjp(f, 2.0, 5.0)[1](1.0) == (15.0, 6.0)
    assert grad(grad(f), 1)(2.0, 5.0) == 3.0
    np.testing.assert_array_equal(jacrev(f)(X, X), np.diag(3 * X))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_higher_derivatives_of_a_rule_that_calls_its_function(order: int) -> None:
    check_grads(softplus(), (X,), order=order)


def test_rules_that_call_each_other() -> None:
    sine, cosine = custom_jvp(lambda x: np.sin(x)), custom_jvp(lambda x: np.cos(x))
    sine.defjvp(lambda p, t: (sine(p[0]), t[0] * cosine(p[0])))
    cosine.defjvp(lambda p, t: (cosine(p[0]), -t[0] * sine(p[0])))
    check_grads(lambda x: sine(x) * cosine(2 * x), (X,), order=3)


def test_rules_are_traced_once_a_level() -> None:
    calls = []
    f = custom_jvp(np.tanh)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        calls.append(None)
        (x,), (t,) = primals, tangents
        return f(x), t * (1 - f(x) * f(x))

    autojit.trace(lambda x: f(x) + f(2 * x))(1.0)
    assert len(calls) == 2 * 4
    check_grads(f, (X,), order=3)


def test_functions_and_rules_may_read_what_changes_between_calls() -> None:
    factor = 1.0
    f = custom_jvp(lambda x: x * factor)
    f.defjvp(lambda p, t: (p[0] * factor, t[0] * factor))

    def both(x: Any) -> Any:
        nonlocal factor
        factor = 2.0
        first = f(x)
        factor = 5.0
        return first + f(x)

    assert jit(both)(1.0) == 7.0
    assert grad(both)(1.0) == 7.0
    outer = custom_jvp(both)
    outer.defjvp(lambda p, t: (both(*p), jvp(both, p, t)[1]))
    assert grad(outer)(1.0) == 7.0
    assert outer(1.0) == 7.0


def test_functions_with_rules_may_be_made_in_each_call() -> None:
    """Such functions work inside another function's rule too, with the values they capture."""

    def ruled(function: Any, rule: Any) -> Any:
        def call(*args: Any) -> Any:
            made = custom_vjp(function)
            made.defvjp(lambda x: (function(x), None), lambda _, g: (rule(*args)(g),))
            return made(*args)

        return call

    inner = ruled(lambda x: x, lambda x: lambda g: 1.5 * g)
    outer = ruled(lambda x: 2 * x, lambda x: lambda g: 3 * inner(g))

    def pulled(v: Any) -> Any:
        return vjp(outer, 0.5)[1](v)[0]

    assert pulled(2.0) == 6.0
    assert grad(pulled)(2.0) == jit(grad(pulled))(2.0) == 4.5


def test_orders_end() -> None:
    f: Any = softplus()
    for _ in range(4):
        f = grad(f)
    x = 0.3
    s = 1 / (1 + np.exp(-x))
    fourth = s * (1 - s) * (1 - 6 * s + 6 * s**2)
    assert f(x) == pytest.approx(fourth, rel=1e-12)
    with pytest.raises(DerivativeError, match="log1pexp is too high"):
        grad(f)(x)


def test_a_custom_derivative_is_stable_where_the_plain_one_is_not() -> None:
    assert grad(softplus())(1000.0) == 1.0
    assert np.isnan(grad(lambda x: np.log(1 + np.exp(x)))(1000.0))


def test_gradient_of_a_gradient_by_a_backward_rule() -> None:
    f = scaled(1.0)
    check_grads(lambda x, y: grad(lambda x: np.sum(np.sin(f(x, y))))(x), (X, X + 1), order=1)
    np.testing.assert_allclose(
        hessian(lambda x: np.sum(f(x, x * x)))(X), np.diag(6 * X), rtol=1e-12
    )
    np.testing.assert_allclose(hvp(lambda x: np.sum(f(x, x * x)))(X, X), 6 * X * X, rtol=1e-12)


def test_a_forward_rule_that_calls_its_function() -> None:
    @custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (3 * x * cube(x) / x * ct,))
    assert grad(cube)(2.0) == pytest.approx(12 * 2)
    # The rule says 3 x^3: its derivative by the rules is 3 x^2 + 3 x (3 x^3) / x - 3 x^2.
    assert grad(grad(cube))(2.0) == pytest.approx(9 * 8)


# -- arguments and results ----------------------------------------------------------


class Pair(NamedTuple):
    left: Any
    right: Any


def test_trees_go_in_and_out() -> None:
    @custom_jvp
    def f(p: Any, q: Any) -> Any:
        return Pair(p["a"] * q[0], {"s": np.sum(q[1])})

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (p, q), (dp, dq) = primals, tangents
        assert set(dp) == {"a"}
        return f(p, q), Pair(dp["a"] * q[0] + p["a"] * dq[0], {"s": np.sum(dq[1])})

    def loss(p: Any, q: Any) -> Any:
        out = f(p, q)
        assert isinstance(out, Pair)
        return np.sum(out.left) * out.right["s"]

    check_grads(loss, ({"a": X}, (2.0, X + 1)))


def test_trees_of_cotangents_may_have_none_in_any_place() -> None:
    @custom_vjp
    def f(p: Any, q: Any, r: Any) -> Any:
        return p["a"] + p["b"][0] * q + r

    f.defvjp(lambda p, q, r: (f(p, q, r), None), lambda _, ct: ({"a": ct, "b": None}, None, 2 * ct))
    p = {"a": 1.0, "b": (2.0, 3.0)}
    gradients = grad(f, (0, 1, 2))(p, 4.0, 5.0)
    assert gradients == ({"a": 1.0, "b": (0.0, 0.0)}, 0.0, 2.0)


def test_settings_are_passed_first() -> None:
    @functools.partial(custom_jvp, nondiff_argnums=(0, 2))
    def apply(f: Any, x: Any, times: int) -> Any:
        for _ in range(times):
            x = f(x)
        return x

    @apply.defjvp
    def rule(f: Any, times: int, primals: Any, tangents: Any) -> Any:
        return apply(f, *primals, times), 10.0 * times * tangents[0]

    assert grad(lambda x: apply(np.sin, x, 3))(0.5) == 30.0

    @custom_vjp(nondiff_argnums=1)
    def power(x: Any, n: int) -> Any:
        return x**n

    power.defvjp(lambda x, n: (x**n, x), lambda n, x, ct: (n * x ** (n - 1) * ct,))
    assert grad(power)(2.0, 3) == 12.0
    assert grad(lambda x: power(x, n=3))(2.0) == 12.0


def test_defaults_and_keywords_become_positions() -> None:
    @custom_jvp
    def f(x: Any, scale: Any = 2.0) -> Any:
        return x * scale

    f.defjvp(lambda p, t: (f(*p), t[0] * p[1] + p[0] * t[1]))
    assert grad(lambda x: f(x))(3.0) == 2.0
    assert grad(lambda s: f(scale=s, x=3.0))(5.0) == 3.0
    g = custom_jvp(lambda x, a=2.0, b=3.0: x * a * b)
    g.defjvp(lambda p, t: (g(*p), t[0] * p[1] * p[2]))
    assert grad(lambda x: g(x, b=5.0))(1.0) == 10.0


def test_integers_and_bools_have_no_tangents() -> None:
    @custom_jvp
    def f(x: Any, n: Any, flag: Any) -> Any:
        return np.where(flag, x * n, x), n + 1

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, n, flag), (t, dn, dflag) = primals, tangents
        assert dn is None
        assert dflag is None
        return f(x, n, flag), (np.where(flag, t * n, t), None)

    n, flag = np.array([1, 2, 3]), np.array([True, False, True])
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(f(x, n, flag)[0] * f(x, n, flag)[1]))(X), [2.0, 3.0, 12.0]
    )

    @custom_vjp
    def g(x: Any, n: Any) -> Any:
        return x * n, n

    def bwd(n: Any, ct: Any) -> Any:
        assert ct[1] is None
        return ct[0] * n, None

    g.defvjp(lambda x, n: ((x * n, n), n), bwd)
    np.testing.assert_array_equal(grad(lambda x: np.sum(g(x, n)[0]))(X), n)


def test_residuals_may_be_any_objects() -> None:
    @custom_vjp
    def f(x: Any) -> Any:
        return np.sum(x)

    f.defvjp(lambda x: (np.sum(x), {"shape": x.shape, "name": "f", "twice": 2 * x}),
             lambda r, ct: (np.full(r["shape"], 1.0) * ct + 0 * r["twice"],))  # fmt: skip
    np.testing.assert_array_equal(grad(f)(X), np.ones(3))


def test_python_numbers_keep_to_the_dtype_of_arrays() -> None:
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], t[0]))
    assert jit(lambda x: f(2.0) * x)(np.float32(3)).dtype == np.float32
    x = X.astype(np.float32)
    assert grad(lambda x: np.sum(f(x)))(x).dtype == np.float32


def test_defjvps() -> None:
    f = custom_jvp(lambda x, y, z: x * y + z)
    f.defjvps(lambda t, out, x, y, z: t * y, None, lambda t, out, x, y, z: t)
    assert grad(f, (0, 1, 2))(2.0, 3.0, 5.0) == (3.0, 0.0, 1.0)
    none = custom_jvp(lambda x: x)
    none.defjvps(None)
    assert grad(none)(1.0) == 0.0


def test_methods() -> None:
    class Model:
        def __init__(self) -> None:
            self.factor = 3.0

        @custom_jvp(nondiff_argnums=(0,))
        def times(self, x: Any) -> Any:
            return self.factor * x

        @times.defjvp
        def rule(self, primals: Any, tangents: Any) -> Any:
            return self.times(*primals), 10 * tangents[0]

    assert grad(Model().times)(1.0) == 10.0


# -- batches and loops --------------------------------------------------------------


def test_a_backward_rule_under_vmap_sums_over_the_batch() -> None:
    f = scaled()
    rows = np.arange(6.0).reshape(2, 3)

    def loss(x: Any, y: Any) -> Any:
        return np.sum(np.sin(vmap(f, in_axes=(0, None))(x, y)))

    got = jit(grad(loss, (0, 1)))(rows, X)
    np.testing.assert_allclose(got[0], 3 * np.cos(rows * X) * X)
    np.testing.assert_allclose(got[1], np.sum(3 * np.cos(rows * X) * rows, axis=0))
    each = vmap(grad(lambda x, y: np.sum(np.sin(f(x, y))), (0, 1)), in_axes=(0, None))(rows, X)
    np.testing.assert_allclose(each[1], 3 * np.cos(rows * X) * rows)
    np.testing.assert_allclose(
        vmap(jacrev(f, 1), in_axes=(0, None))(rows, X)[1], np.diag(3 * rows[1])
    )


def test_a_cotangent_that_does_not_depend_on_the_batch() -> None:
    f = custom_vjp(lambda x, y: x + y)
    f.defvjp(lambda x, y: (x + y, None), lambda _, ct: (ct, 0 * ct + 1.0))
    loss = lambda x: np.sum(vmap(f, in_axes=(0, None))(X, x))  # noqa: E731
    assert grad(loss)(1.0) == 3.0


def test_batches_of_batches() -> None:
    f = softplus()
    rows = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(vmap(vmap(grad(f)))(rows), 1 / (1 + np.exp(-rows)))
    np.testing.assert_allclose(
        grad(lambda x: np.sum(vmap(vmap(f))(x)))(rows), 1 / (1 + np.exp(-rows))
    )


LOOPS = {
    "scan": lambda f, x: scan(lambda c, _: (f(c), None), x, None, length=3)[0],
    "fori_loop": lambda f, x: fori_loop(0, 3, lambda i, c: f(c), x),
    "while_loop": lambda f, x: while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, x)
    )[1],
    "cond": lambda f, x: autojit.cond(np.sum(x) > -1e9, lambda x: f(f(f(x))), lambda x: x, x),
    "map": lambda f, x: autojit.map(lambda row: f(f(f(row))), x[None])[0],
}


@pytest.mark.parametrize("loop", LOOPS)
def test_rules_in_loops(loop: str) -> None:
    plain = lambda x: np.sum(LOOPS[loop](lambda c: np.log(1 + np.exp(c)), x))  # noqa: E731
    f = softplus()
    by_jvp = lambda x: np.sum(LOOPS[loop](f, x))  # noqa: E731
    g = custom_vjp(lambda x: np.log(1 + np.exp(x)))
    g.defvjp(lambda x: (np.log(1 + np.exp(x)), x), lambda x, ct: (ct / (1 + np.exp(-x)),))
    by_vjp = lambda x: np.sum(LOOPS[loop](g, x))  # noqa: E731
    v = np.array([1.0, 2.0, -1.0])
    with autojit.disable_jit():
        want, second = grad(plain)(X), hvp(plain)(X, v)
        for scalar in (by_jvp, by_vjp):
            np.testing.assert_allclose(grad(scalar)(X), want, rtol=1e-10)
            twice = grad(lambda x, s=scalar: np.sum(grad(s)(x) * v))(X)  # type: ignore[misc]
            np.testing.assert_allclose(twice, second, rtol=1e-10)
        np.testing.assert_allclose(jvp(by_jvp, (X,), (v,))[1], np.sum(want * v), rtol=1e-10)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_rule_is_not_lost_in_loops(loop: str) -> None:
    """In the second derivative too: the bodies of loops are simplified before."""
    f = custom_jvp(lambda x: x * x)  # with half its derivative
    f.defjvp(lambda primals, tangents: (f(*primals), primals[0] * tangents[0]))
    with autojit.disable_jit():
        # f(f(f(x))) = x ** 8, each derivative half: x ** 7 instead of 8 x ** 7
        first = grad(lambda x: np.sum(LOOPS[loop](f, x)))
        np.testing.assert_allclose(first(X), X**7, rtol=1e-10)
        # and d/dx of x f(x) f(f(x)) = x x^2 x^4 by the rule is x^6 (1 + 1 + 1)
        second = grad(lambda x: np.sum(first(x)))
        np.testing.assert_allclose(second(X), 3 * X**6, rtol=1e-10)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_rule_that_differentiates_a_loop_forwards(loop: str) -> None:
    """One op gives value and tangent, and reverse mode transposes a part of it."""
    inner = lambda x: LOOPS[loop](np.sin, x)  # noqa: E731
    f = custom_jvp(lambda x: np.exp(inner(x)))

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        y, dy = jvp(inner, primals, tangents)
        return np.exp(y), dy * np.exp(y)

    with autojit.disable_jit():
        check_grads(f, (X,), order=2)


@pytest.mark.parametrize("loop", ["scan", "while_loop"])
def test_compiled_rules_in_loops(loop: str) -> None:
    f = softplus()
    g = custom_vjp(lambda x: np.log(1 + np.exp(x)))
    g.defvjp(lambda x: (np.log(1 + np.exp(x)), x), lambda x, ct: (ct / (1 + np.exp(-x)),))
    plain = lambda x: np.sum(LOOPS[loop](lambda c: np.log(1 + np.exp(c)), x))  # noqa: E731
    want = grad(plain)(X)
    for rule in (f, g):
        got = jit(grad(lambda x, r=rule: np.sum(LOOPS[loop](r, x))))(X)  # type: ignore[misc]
        np.testing.assert_allclose(got, want, rtol=1e-10)


# -- programs -----------------------------------------------------------------------


def test_programs_are_closed_texts_and_code_has_no_calls() -> None:
    f, g = softplus(), scaled()
    for function in (f, lambda x: g(f(x), x), grad(lambda x: g(f(x), x))):
        program = autojit.trace(vmap(function))(X)
        verify(program)
        assert autojit.parse(program.text()) == program
        code = optimize(program, verify=True)
        assert not any("custom" in op.kind.name for op in code.ops)
        with autojit.disable_jit():
            np.testing.assert_allclose(vmap(function)(X), code(X))


def test_calls_in_bodies_are_inlined() -> None:
    f = softplus()
    program = autojit.trace(lambda x: scan(lambda c, _: (f(c), None), x, None, length=3)[0])(1.0)
    assert "custom_jvp" in program.text()
    code = optimize(program, verify=True)
    assert "custom_jvp" not in code.text()
    assert code(1.0) == program(1.0)


# -- mistakes -----------------------------------------------------------------------

HERE = re.escape(__file__)


def says(error: type[Exception], function: Any, *arguments: Any) -> str:
    with pytest.raises(error) as caught:
        function(*arguments)
    assert type(caught.value) is error
    return str(caught.value)


def test_closed_over_values_are_refused() -> None:
    def by_jvp(w: Any) -> Any:
        f = custom_jvp(lambda x: x * w)
        f.defjvp(lambda p, t: (f(*p), t[0] * w))
        return f(2.0)

    def by_vjp(w: Any) -> Any:
        @custom_vjp
        def f(x: Any) -> Any:
            return x

        f.defvjp(lambda x: (x, None), lambda _, ct: (w * ct,))
        return f(2.0 * w)

    for function in (by_jvp, by_vjp):
        assert jit(function)(3.0) == 6.0  # without a derivative there is nothing wrong
        text = says(DerivativeError, grad(function), 3.0)
        assert "closes over a value of type f64[] that depends on" in text
        assert "pass it as an argument" in text
        assert re.search(rf'File "{HERE}", line \d+, in by_', text)


def test_a_closed_over_value_that_does_not_move_is_welcome() -> None:
    def loss(w: Any, x: Any) -> Any:
        f = custom_jvp(lambda x: x * w)
        f.defjvp(lambda p, t: (f(*p), 2 * t[0] * w))
        return f(x)

    assert grad(loss, 1)(3.0, 5.0) == 6.0
    table = np.array([1.0, 2.0])
    f = custom_vjp(lambda x: x * table)
    f.defvjp(lambda x: (x * table, None), lambda _, ct: (np.sum(ct * table),))
    assert jit(grad(lambda x: np.sum(f(x))))(1.0) == 3.0
    with pytest.raises(DerivativeError, match="closes over"):
        grad(loss)(3.0, 5.0)


FORWARD = {
    "jvp": lambda f: jvp(f, (2.0, 3.0), (1.0, 1.0)),
    "jit": lambda f: jit(lambda x: jvp(f, (x, x), (x, x)))(2.0),
    "jacfwd": lambda f: jacfwd(f)(2.0, 3.0),
    "linearize": lambda f: linearize(f, 2.0, 3.0)[1](1.0, 1.0),
    "gradient of jvp": lambda f: grad(lambda x: jvp(f, (x, x), (1.0, 1.0))[1])(2.0),
}


@pytest.mark.parametrize("way", FORWARD)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_vjp_has_no_forward_mode(way: str, compiled: bool) -> None:
    f = scaled()
    if compiled:
        text = says(DerivativeError, FORWARD[way], f)
    else:
        with autojit.disable_jit():
            text = says(DerivativeError, FORWARD[way], f)
    assert "product has a custom vjp, so it has no forward mode" in text
    assert "grad, vjp, jacrev" in text


def test_missing_rules() -> None:
    @custom_jvp
    def first(x: Any) -> Any:
        return x

    @custom_vjp
    def second(x: Any) -> Any:
        return x

    assert "first.defjvp(rule)" in says(StructureError, first, 1.0)
    assert "second.defvjp(fwd, bwd)" in says(StructureError, grad(second), 1.0)
    assert "must be a function, not 3" in says(StructureError, custom_jvp, 3)
    assert "argument 1 of defvjp must be a function" in says(
        StructureError, second.defvjp, lambda x: (x, None), 3
    )


JVP_RULES: dict[str, tuple[type[Exception], str, Any]] = {
    "no pair": (StructureError, "must return (out, tangent_out); it returned a traced array",
                lambda p, t: t[0]),
    "structure": (StructureError, "The result of the rule of f (<lambda>) must have the structure",
                  lambda p, t: (p[0], t[0])),
    "structure of the tangent": (
        StructureError, "The tangent that the rule of f (<lambda>) returns must have the structure",
        lambda p, t: ({"a": p[0]}, t[0])),
    "shape": (ShapeError, "rule of f (<lambda>) at result['a'] must have the shape (3,); got ()",
              lambda p, t: ({"a": np.sum(p[0])}, {"a": t[0]})),
    "shape of the tangent": (
        ShapeError, "returns at result['a'] must have the shape (3,); got ()",
        lambda p, t: ({"a": p[0]}, {"a": np.sum(t[0])})),
    "dtype": (DtypeError, "at result['a'] must be float64; got float32",
              lambda p, t: ({"a": p[0]}, {"a": t[0].astype(np.float32)})),
    "dependence": (StructureError, "depends on the tangents",
                   lambda p, t: ({"a": p[0] + t[0]}, {"a": t[0]})),
    "no array": (NotArrayError, "'text'", lambda p, t: ({"a": p[0]}, {"a": "text"})),
}  # fmt: skip


@pytest.mark.parametrize("case", JVP_RULES)
def test_wrong_jvp_rules(case: str) -> None:
    error, words, rule = JVP_RULES[case]

    @custom_jvp
    def f(x: Any) -> Any:
        return {"a": x}

    f.defjvp(rule)
    text = says(error, grad(lambda x: np.sum(f(x)["a"])), X)
    assert words in text
    assert re.search(rf'File "{HERE}", line \d+', text)


NOT_LINEAR = {
    "square": lambda t, x: t * t,
    "exponential": lambda t, x: np.exp(t),
    "sign": lambda t, x: np.sign(t) * x,
    "comparison": lambda t, x: np.where(t > 0, t, 2 * t),
    "rounding": lambda t, x: np.floor(t),
    "quotient": lambda t, x: x / t,
    "integers": lambda t, x: t.astype(int).astype(float),
    "maximum": lambda t, x: np.maximum(t, 0.0),
    "stop_gradient": lambda t, x: autojit.stop_gradient(t),
    "loop": lambda t, x: scan(lambda c, _: (c * c, None), t, None, length=2)[0],
    "while": lambda t, x: while_loop(lambda c: np.sum(c) < 9, lambda c: 2 * c, t),
}


@pytest.mark.parametrize("case", NOT_LINEAR)
def test_rules_that_are_not_linear(case: str) -> None:
    """Rules that are not linear raise: reverse mode would give a meaningless number."""
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], NOT_LINEAR[case](t[0], p[0])))
    with autojit.disable_jit():
        text = says(DerivativeError, grad(lambda x: np.sum(f(x))), X)
    assert "not linear" in text


VJP_RULES: dict[str, tuple[type[Exception], str, Any, Any]] = {
    "no pair": (StructureError, "must return (out, residuals); it returned a traced array",
                lambda x, y: x, None),
    "result": (ShapeError, "forward rule of f (<lambda>) at result must have the shape (3,)",
               lambda x, y: (np.sum(x), None), None),
    "no tuple": (StructureError, "must return a tuple of 2 cotangents",
                 lambda x, y: (x, None), lambda r, ct: ct),
    "too few": (StructureError, "A tuple of one is written (x,)",
                lambda x, y: (x, None), lambda r, ct: (ct,)),
    "structure": (StructureError, "The cotangent of the backward rule of f (<lambda>) must have",
                  lambda x, y: (x, None), lambda r, ct: (ct, ct)),
    "name": (StructureError, "must have the structure",
             lambda x, y: (x, None), lambda r, ct: (ct, {"b": ct})),
    "shape": (ShapeError, "f (<lambda>) at argument 1['a'] must have the shape (); got (3,)",
              lambda x, y: (x, None), lambda r, ct: (ct, {"a": ct})),
    "dtype": (DtypeError, "at argument 0 must be float64; got complex128",
              lambda x, y: (x, None), lambda r, ct: (1j * ct, None)),
}  # fmt: skip


@pytest.mark.parametrize("case", VJP_RULES)
def test_wrong_vjp_rules(case: str) -> None:
    error, words, fwd, bwd = VJP_RULES[case]

    @custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y["a"]

    f.defvjp(fwd, bwd or (lambda r, ct: (ct, None)))
    text = says(error, grad(lambda x: np.sum(f(x, {"a": 2.0}))), X)
    assert words in text
    assert re.search(rf'File "{HERE}", line \d+', text)


def test_arguments_that_do_not_fit() -> None:
    @custom_jvp
    def f(x: Any, *, scale: Any = 1.0) -> Any:
        return x * scale

    f.defjvp(lambda p, t: (f(*p), t[0]))
    assert "scale can be passed by name only" in says(StructureError, lambda: f(1.0, scale=2.0))
    assert grad(f)(3.0) == 1.0
    g = custom_jvp(lambda x: x, nondiff_argnums=(3,))
    g.defjvp(lambda p, t: (p[0], t[0]))
    assert "nondiff_argnums=3" in says(StructureError, grad(g), 1.0)
    h = custom_jvp(lambda x, mode: x)
    h.defjvp(lambda p, t: (p[0], t[0]))
    text = says(NotArrayError, grad(lambda x: h(x, "fast")), 1.0)
    assert "nondiff_argnums=(...,)" in text
    assert "missing a required argument" in says(StructureError, grad(h), 1.0)
    k = custom_jvp(lambda x, y: x)
    k.defjvps(lambda t, out, x, y: t)
    assert "defjvps was given 1 rules" in says(StructureError, grad(k), 1.0, 2.0)
    assert "cannot be used with nondiff_argnums" in says(
        StructureError, g.defjvps, lambda t, o, x: t
    )


def test_names() -> None:
    f = softplus()
    assert repr(f) == "<custom_jvp log1pexp>"
    assert f.__name__ == "log1pexp"
    assert repr(scaled()) == "<custom_vjp product>"


def test_a_rule_in_a_loop_of_unknown_length_differentiated_by_its_cotangent() -> None:
    """A sweep of the loop hands on no carry, and what it pushes is read by another."""

    @custom_vjp
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))

    def f(x: Any, y: Any) -> Any:
        step = lambda t: (t[0] + 1, sine(t[1]), t[2] + t[1])  # noqa: E731
        return while_loop(lambda t: t[0] < 3, step, (0, x, y))[1]

    def pulled(ct: Any, x: Any, y: Any) -> Any:
        return autojit.vjp(lambda x: f(x, y), x)[1](ct)[0]

    a, b, c = 0.5, np.sin(0.5), np.sin(np.sin(0.5))
    want = np.cos(a) * np.cos(b) * np.cos(c)
    assert jit(grad(pulled))(1.0, 0.5, 0.2) == pytest.approx(want)


def test_rules_that_are_not_linear_are_applied_to_each_call() -> None:
    """Two equal calls are not one of the sum of their cotangents."""

    @custom_vjp
    def clipped(x: Any) -> Any:
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))

    def by_a_loop(x: Any) -> Any:
        return autojit.scan(lambda c, _: (clipped(c), None), x, None, length=2)[0]

    for f in (clipped, by_a_loop):
        assert grad(lambda x, f=f: 3.0 * f(x) + 4.0 * f(x))(2.0) == 2.0
        assert jit(grad(lambda x, f=f: 3.0 * f(x) + 4.0 * f(x)))(2.0) == 2.0
