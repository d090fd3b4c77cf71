"""Settings of autojit's own functions that they do not take: the message says what was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, hessian, jacrev, jit, vmap
from autojit.dispatch import once
from autojit.errors import (
    FrozenStateWarning,
    NotArrayError,
    RepeatedJitWarning,
    SettingError,
    StructureError,
    UncoveredFunctionError,
    UnsupportedTargetError,
)

X = np.ones(3)


def f(x: Any, y: Any = 1.0) -> Any:
    return x * y


def many(x: Any, *rest: Any, **named: Any) -> Any:
    return x


REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "a name": (lambda: grad(f, argnums="y"), ["'y' is argument 1 of f", "grad(f, argnums=1)"]),
    "a name of several": (lambda: grad(f, argnums=("x", "y")), ["grad(f, argnums=0)"]),
    "no name": (lambda: grad(f, argnums="yy"), ["Did you mean y?", "0 x, 1 y"]),
    "a float": (lambda: grad(f, argnums=1.0), ["not 1.0 of type float", "grad(f, argnums=1)"]),
    "of jacrev": (lambda: jacrev(f, argnums="y"), ["jacrev(f, argnums=1)"]),
    "of hessian": (lambda: hessian(f, argnums="y"), ["'y' is argument 1 of f"]),
    "out of range": (lambda: grad(f, 2)(1.0, 1.0), ["argnums=2", "choose from 0 to 1"]),
    "by keyword": (lambda: grad(f)(x=1.0), ["0 positional", "not: grad(f)(x=x)"]),
    "a static name": (
        lambda: jit(f, static_argnames="yy"),
        ["static_argnames='yy'", "Did you mean y?", "Its arguments: x, y"],
    ),
    "a static number": (
        lambda: jit(f, static_argnums=5), ["static_argnums=5", "takes 2 positional", "0 x, 1 y"]
    ),
    "a negative one": (lambda: jit(f, static_argnums=-3), ["static_argnums=-3"]),
    "a static number by name": (
        lambda: jit(f, static_argnums="y"), ["jit(f, static_argnums=1)"]
    ),
    "of vmap": (lambda: vmap(f, in_axes="x"), ["numbers of axes", "vmap(f, in_axes=0)"]),
    "of vmap, nested": (lambda: vmap(f, in_axes=({"w": 0.5},)), ["not 0.5"]),
    "too few axes": (
        lambda: vmap(f, in_axes=(0,))(X, X), ["1 entry for 2 arguments", "in_axes=(0, None)"]
    ),
    "no axis": (lambda: vmap(f, in_axes=None)(X), ["vmap(f, in_axes=0)"]),
    "a stage": (lambda: jit(f).lower(X).text("optimised"), ["Did you mean optimized?"]),
    "a stage in capitals": (lambda: jit(f).lower(X).text("LLVM"), ["Did you mean llvm?"]),
    "a keyword": (lambda: jit(f, static_argnum=1), ["Did you mean static_argnums?"]),
    "a keyword of grad": (lambda: grad(f, argnum=1), ["'argnum'", "Did you mean argnums?"]),
    "a keyword of vmap": (lambda: vmap(f, in_axis=1), ["Did you mean in_axes?"]),
    "a keyword of scan": (
        lambda: autojit.scan(lambda c, x: (c, x), 0.0, X, reversed=True), ["Did you mean reverse?"]
    ),
    "of Numba": (lambda: jit(nopython=True), ["Numba's", "Leave it out", "jit(f)"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_are_refused(case: str) -> None:
    call, words = REFUSED[case]
    with pytest.raises(SettingError) as caught:
        call()
    assert type(caught.value) is SettingError
    assert caught.value.__cause__ is None
    for each in words:
        assert each in str(caught.value)


def test_settings_that_fit() -> None:
    jit(many, static_argnums=5, static_argnames="anything")
    jit(f, static_argnums=-1)
    jit(f, static_argnums=[0, np.int64(1)])
    jit(np.sin, static_argnums=0)
    assert grad(f, argnums=np.int64(1))(2.0, 3.0) == 2.0
    assert vmap(f, in_axes=[0, None])(X, 2.0).tolist() == [2, 2, 2]


def test_errors_of_the_function_itself_are_pythons() -> None:
    for call in (jit(f), grad(f)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'") as caught:
            call(1.0, z=2.0)
        assert type(caught.value) is TypeError


@pytest.mark.parametrize(
    ("device", "words"),
    [("gpu", "Did you mean cuda"), ("CPU", "Did you mean cpu"), ("tpu", "not 'tpu'")],
)
def test_devices(device: str, words: str) -> None:
    with pytest.raises(UnsupportedTargetError, match=words):
        jit(f, device=device)


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda: jit(f(1.0)), r"jit\(f\)\(x\) +# not: jit\(f\(x\)\)"),
        (lambda: vmap(f(1.0)), r"vmap\(f\)\(x\) +# not"),
        (lambda: jacrev(f(1.0)), r"jacrev\(f\)\(x\) +# not"),
        (lambda: grad(f(1.0)), r"grad\(f\)\(x\) +# not"),
    ],
)
def test_values_where_functions_belong(call: Callable[[], Any], fix: str) -> None:
    with pytest.raises(StructureError, match=fix):
        call()


def test_the_argument_that_is_to_be_static_is_named() -> None:
    class Setting:
        """A setting without an order or fields."""

    with pytest.raises(NotArrayError, match=r"jit\(f, static_argnums=1\)"):
        jit(f)(1.0, Setting())
    with pytest.raises(NotArrayError, match=r"jit\(f, static_argnames='y'\)") as caught:
        jit(f)(1.0, y=Setting())
    assert "0x" not in str(caught.value)


@pytest.mark.parametrize(
    ("g", "arguments", "fix"),
    [
        (lambda n: np.zeros(n), (3,), "jit(f, static_argnums=0)"),
        (lambda x, k, n: x.reshape(n, -1), (X, 1, 3), "jit(f, static_argnums=2)"),
        (lambda x, axis: np.sum(x, axis=axis), (X, 0), "jit(f, static_argnums=1)"),
        (lambda n: np.zeros(int(n)), (3,), "jit(f, static_argnums=0)"),
    ],
)
def test_the_argument_that_decides_about_a_shape(
    g: Callable[..., Any], arguments: tuple[Any, ...], fix: str
) -> None:
    with pytest.raises(autojit.errors.ConcreteValueError) as caught:
        jit(g)(*arguments)
    assert fix in str(caught.value)


def test_attributes_of_other_libraries() -> None:
    for name, fix in (("at", "y[i] = v"), ("backward", "grad(f)(x)"), ("unsqueeze", "expand_dims")):
        with pytest.raises(AttributeError) as caught:
            jit(lambda x, name=name: getattr(x, name))(X)
        assert fix in str(caught.value)
    assert jit(lambda x: hasattr(x, "detach"))(X) == np.False_


def test_functions_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(UncoveredFunctionError, match=r"torch\.sin is PyTorch's"):
        jit(lambda x: torch.sin(x))(X)
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(UncoveredFunctionError, match=r"jax\.numpy\.sin is JAX's"):
        jit(lambda x: jnp.sin(x))(X)


# -- what happens once --------------------------------------------------------------------


def test_jit_in_a_loop_is_warned_of_once_in_a_while() -> None:
    def double(x: Any) -> Any:
        return 2 * x

    def loop(times: int) -> None:
        for _ in range(times):
            jit(double)(X)

    loop(9)
    with pytest.warns(RepeatedJitWarning, match="jit was called 10 times on double") as caught:
        loop(9)
    assert [w.filename for w in caught] == [__file__]
    with pytest.warns(RepeatedJitWarning, match="20 times"):
        loop(2)


def test_many_other_functions_do_not_hide_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "_MOST", 3)

    def double(x: Any) -> Any:
        return 2 * x

    def loop() -> None:
        for k in range(10):
            jit(double)(X)
            jit(lambda x, k=k: x + k)(X)

    with pytest.warns(RepeatedJitWarning, match="10 times on double"):
        loop()
    assert len(once._traced) == 3


@pytest.mark.filterwarnings("error::autojit.errors.RepeatedJitWarning")
def test_functions_that_differ_are_compiled_in_a_loop() -> None:
    for k in range(12):
        offset = float(k)
        assert jit(lambda x, k=offset: x + k)(1.0) == 1.0 + k
        assert jit(lambda x: x + offset)(1.0) == 1.0 + k  # noqa: B023


def test_variables_outside_that_are_set() -> None:
    calls = 0

    @jit
    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * calls

    with pytest.warns(FrozenStateWarning, match=r"outer variable `calls` \(it was 0, is 1\)") as w:
        counted(1.0)
    assert w[0].filename == __file__
    counted(1.0)
    assert calls == 1
