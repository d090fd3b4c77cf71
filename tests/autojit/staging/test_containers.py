"""Functions that change containers among their arguments: in plain Python the caller sees that."""

from __future__ import annotations

import collections
import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import checkpoint, custom_jvp, fori_loop, grad, hessian, jit, jvp, scan, vjp, vmap
from autojit.errors import ArgumentChangedError

X = np.arange(1.0, 4.0)


@dataclasses.dataclass
class Model:
    w: Any
    layers: list[Any]


def sets(p: Any) -> Any:
    p["w"] = p["w"] * 2.0
    return np.sum(p["w"])


def adds(p: Any) -> Any:
    p["norm"] = np.sum(p["w"] ** 2)
    return p["norm"]


def removes(p: Any) -> Any:
    return np.sum(p.pop("w"))


def updates(p: Any) -> Any:
    p.update(w=np.sin(p["w"]))
    return np.sum(p["w"])


def appends(p: Any) -> Any:
    p["more"].append(p["w"])
    return np.sum(p["w"])


def reverses(p: Any) -> Any:
    p["more"].reverse()
    return np.sum(p["w"])


def dict_of(**more: Any) -> dict[str, Any]:
    return {"w": X, **more}


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (sets, r"argument 0, a dict: 'w' is a different object"),
        (adds, r"argument 0, a dict: 'norm' is new"),
        (removes, r"argument 0, a dict: 'w' is gone"),
        (updates, r"argument 0, a dict: 'w' is a different object"),
    ],
)
@pytest.mark.parametrize(
    "transform", [jit, grad, vmap, hessian, autojit.trace, lambda f: lambda p: vjp(f, p),
                  lambda f: lambda p: jvp(f, (p,), (p,)), lambda f: jit(checkpoint(f))],
)  # fmt: skip
def test_a_changed_dict(f: Callable[[Any], Any], words: str, transform: Any) -> None:
    given = dict_of()
    with pytest.raises(ArgumentChangedError, match=words):
        transform(f)(given)
    assert given == {"w": X}


def test_the_message_shows_a_fix_that_works() -> None:
    with pytest.raises(ArgumentChangedError) as caught:
        jit(sets)(dict_of())
    text = str(caught.value)
    assert "sets changes argument 0, a dict" in text
    assert "p = dict(p)" in text
    assert "test_containers.py" in text
    assert "def sets(p: Any)" in text

    def fixed(p: Any) -> Any:
        p = dict(p)
        p["w"] = p["w"] * 2.0
        return np.sum(p["w"])

    np.testing.assert_array_equal(jit(grad(fixed))(dict_of())["w"], np.full(3, 2.0))


def test_the_fix_of_a_container_inside_of_another_works() -> None:
    given = {"layer": {"w": X, "seen": []}}

    def f(params: Any) -> Any:
        params["layer"]["seen"].append(params["layer"]["w"])
        return np.sum(params["layer"]["seen"][0] ** 2)

    with pytest.raises(ArgumentChangedError) as caught:
        jit(f)(given)
    assert "argument 0['layer']['seen'], a list: it had 0 elements, and has 1" in str(caught.value)
    assert "params = copy.deepcopy(params)" in str(caught.value)

    def fixed(params: Any) -> Any:
        params = copy.deepcopy(params)
        params["layer"]["seen"].append(params["layer"]["w"])
        return np.sum(params["layer"]["seen"][0] ** 2)

    np.testing.assert_array_equal(jit(grad(fixed))(given)["layer"]["w"], 2.0 * X)


@pytest.mark.parametrize("f", [appends, reverses])
def test_a_changed_list_in_a_dict(f: Callable[[Any], Any]) -> None:
    with pytest.raises(ArgumentChangedError, match=r"argument 0\['more'\], a list"):
        autojit.trace(f)({"w": X, "more": []} if f is appends else {"w": X, "more": [1.0, 2.0]})


def test_a_changed_list_of_two_numbers() -> None:
    def f(p: Any) -> Any:
        p[0], p[1] = p[1], p[0]
        return p[0] * 2.0

    with pytest.raises(ArgumentChangedError, match=r"argument 0, a list: 0 is a different object"):
        grad(f)([1.0, 2.0])


def test_numbers_in_a_dict() -> None:
    def f(state: Any) -> Any:
        state["count"] += 1
        return state["count"] * 2.0

    with pytest.raises(ArgumentChangedError, match="'count' is a different object"):
        jit(f)({"count": 1})


def test_empty_containers() -> None:
    def f(x: Any, log: Any) -> Any:
        log.append(1.0)
        return x * 2.0

    with pytest.raises(ArgumentChangedError, match=r"argument 1, a list: it had 0"):
        jit(f)(X, [])


def test_attributes_of_dataclasses() -> None:
    def f(model: Any) -> Any:
        model.w = model.w + 1.0
        return np.sum(model.w)

    def g(model: Any) -> Any:
        model.layers[0]["b"] = 1.0
        return np.sum(model.w)

    with pytest.raises(
        ArgumentChangedError, match=r"argument 0, a Model: 'w' is a different object"
    ):
        jit(f)(Model(X, []))
    with pytest.raises(ArgumentChangedError, match=r"argument 0\.layers\[0\], a dict: 'b' is new"):
        grad(g)(Model(X, [{}]))


@pytest.mark.parametrize(
    "given", [collections.OrderedDict(w=X), collections.defaultdict(list, w=X)]
)
def test_other_dicts(given: Any) -> None:
    with pytest.raises(ArgumentChangedError, match="'norm' is new"):
        jit(adds)(given)


def test_arguments_by_name() -> None:
    def f(x: Any, *, options: Any) -> Any:
        options["scale"] = 3.0
        return x * options["scale"]

    with pytest.raises(ArgumentChangedError, match="argument 'options', a dict") as caught:
        jit(f)(X, options={"scale": 2.0})
    assert "options = dict(options)" in str(caught.value)


def test_functions_with_rules() -> None:
    f = custom_jvp(sets)
    f.defjvp(lambda p, t: (np.sum(p[0]["w"]), np.sum(t[0]["w"])))
    with pytest.raises(ArgumentChangedError, match="'w' is a different object"):
        grad(f)(dict_of())


def test_an_inner_function_names_its_own_argument() -> None:
    def outer(x: Any) -> Any:
        return jit(sets)({"w": x})

    with pytest.raises(ArgumentChangedError, match="sets changes argument 0"):
        grad(outer)(X)


# -- what is no change of the caller's containers ---------------------------------------


def test_what_is_put_back_is_no_change() -> None:
    def f(p: Any) -> Any:
        w = p.pop("w")
        p["more"].append(w)
        p["w"] = w
        return np.sum(p["more"].pop())

    np.testing.assert_array_equal(jit(grad(f))(dict_of(more=[]))["w"], np.ones(3))


def test_copies_and_keyword_arguments_are_the_functions_own() -> None:
    def f(p: Any, *rest: Any, **options: Any) -> Any:
        p = {**p, "b": 1.0}
        p["w"] = p["w"] * options.pop("scale")
        options["b"] = p
        return np.sum(p["w"]) + sum(rest)

    assert jit(f)(dict_of(), 1.0, scale=2.0) == 13.0


def test_containers_that_are_not_traced_change_as_in_python() -> None:
    """``grad`` passes other arguments unchanged, and calls the function again each time."""
    log: list[int] = []

    def f(x: Any, log: Any) -> Any:
        log.append(len(log))
        return np.sum(x * x)

    for _ in range(2):
        grad(f)(X, log)
    assert log == [0, 1]


def test_carries_of_loops_are_their_own() -> None:
    def step(_: Any, p: Any) -> Any:
        p["w"] = p["w"] * 2.0
        return p

    def scanned(p: Any, _: Any) -> Any:
        p["w"] = p["w"] * 2.0
        return p, None

    f = jit(lambda x: fori_loop(0, 3, step, {"w": x})["w"])
    g = jit(lambda x: scan(scanned, {"w": x}, length=3)[0]["w"])
    np.testing.assert_array_equal(f(X), 8.0 * X)
    np.testing.assert_array_equal(g(X), 8.0 * X)


def test_results_that_hold_arguments() -> None:
    def f(p: Any) -> Any:
        return p, {**p, "w": p["w"] + 1.0}

    old, new = jit(f)(dict_of())
    np.testing.assert_array_equal(new["w"] - old["w"], np.ones(3))
