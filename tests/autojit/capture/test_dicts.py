"""Dicts whose keys traced conditions add or delete: Python's values, errors and order, or an
error."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

from autojit import disable_jit, errors, grad, jit, vmap

from .outcomes import is_same, outcome


def looked_up(x):
    d = {}
    if x > 0:
        d["a"] = x * 2
    return d.get("a", 5.0 * x) + (1 if "a" in d else 0) + len(d)


def missing(x):
    d = {}
    if x > 0:
        d["a"] = x * 2
    return d["a"]


def handled(x):
    d = {}
    if x > 0:
        d["k"] = x
    try:
        return d["k"] * 2
    except KeyError:
        return -7.0 * x


def run_through(x):
    d = {"z": x}
    if x > 0:
        d["a"] = x * 2
    if x > 1:
        d["b"] = 3 * x
    t = 0.0
    for _k, v in d.items():
        t = t * 2 + v
    for k in d:
        if k == "b":
            t += 100
    for k in d:
        d[k] *= 2
    return t + sum(d.values()) + len([v for v in d.values() if v > 2]) + max(d.values())


def left_early(x):
    d = {}
    for k in ("a", "b", "c"):
        if x > len(d):
            d[k] = x * (1 + len(d))
    for v in d.values():
        if v > 1:
            return v
    return -x


def in_a_loop(x):
    d = {}
    for i in range(20):
        if x * i > 5:
            d["last"] = i * x
            d["n"] = d.get("n", 0) + 1
    return d.get("last", -x) + d.get("n", 0)


def in_a_while(x):
    d = {}
    n = 0
    while n < 6:
        n += 1
        if x * n > 2:
            d.setdefault("first", n * x)
        if x * n > 4 and "first" in d:
            del d["first"]
    return d.get("first", -x) + 10 * len(d)


def two_names(x):
    d = {"a": x, "b": 2 * x}
    e = d
    if x > 0:
        d.pop("a")
        e["c"] = 1.0
    return len(d) + d.pop("c", 5.0) + d.setdefault("a", 9.0 * x) + len(e)


def copied(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x * x
    e, f, g = dict(d), d.copy(), {"b": 5.0} | d
    e["a"] = f["a"] = 0.0
    if x < 1:
        f.update(e)
    return d["a"] + f.get("b", 1.0) + len(e) + len(f) + g["b"]


def deleted(x):
    d = {"a": x, "b": 2.0}
    if x > 0:
        del d["a"]
    if "a" in d:
        d["a"] += 1
    return len(d) * d.get("a", x)


def deleted_twice(x):
    d = {"a": x, "b": 2.0}
    if x > 0:
        del d["a"]
    del d["a"]
    return len(d) * x


def emptied(x):
    d = {"a": x}
    if x > 0:
        d.clear()
    if d:
        return d["a"]
    return 3.0 * x if not d else x


def emptied_in_a_loop(x):
    d = {"p": x}
    n = 0
    while n < x + 3:
        n += 1
        d["q"] = x
        d.clear()
    return len(d) + d.get("p", 2.0 * x)


def of_defaults(x):
    d, c, o = defaultdict(float), Counter(), OrderedDict(q=1.0)
    if x > 0:
        d["p"] += x
        c["p"] += 1
    if x > 1:
        d["q"] += x
        o["p"] = x
    return d["p"] + d["q"] + len(d) + c["p"] + c["q"] + len(c) + len(o)


def of_objects(x):
    d = {}
    if x > 0:
        d["k"] = "abc"
    if x > 1:
        d["n"] = None
    return (x if d.get("k") == "abc" else 0.0) + (1.0 if "n" in d else 0)


def an_unread_text(x):
    d = {}
    if x > 0:
        d["k"] = "abc"
    d["k"]
    return x


def of_an_attribute(x):
    class Table:
        pass

    s = Table()
    s.d = {}

    def put(k, v):
        s.d[k] = v

    if x > 0:
        put("k", x)
    return s.d.get("k", 3.0 * x) + len(s.d)


def set_on_both_ways(x):
    d = {"z": 1.0}
    if x > 0:
        d["a"] = x
    else:
        d["a"] = 2 * x
    return d


def of_tuples(x):
    grid = {}
    for i in range(3):
        for j in range(3):
            if x * i > j:
                grid[i, j] = x * (i + j)
    return sum(grid.get((i, i - 1), 0.5) for i in range(3)) + len(grid)


def grown_while_run_through(x):
    d = {"z": 1.0, "y": x}
    for i, (_k, v) in enumerate(d.items()):
        if x > i:
            d["z"] = v + x
    for a, b in zip(d, d.values(), strict=True):
        if a == "y" and x > 0:
            break
        d["z"] += b
    return d["z"]


WORKING = [
    looked_up, missing, handled, run_through, left_early, in_a_loop, in_a_while, two_names, copied,
    deleted, deleted_twice, emptied, emptied_in_a_loop, of_defaults, of_objects, an_unread_text,
    of_an_attribute, set_on_both_ways, of_tuples, grown_while_run_through,
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", WORKING)
def test_dicts_are_pythons(f):
    compiled, derived = jit(f), jit(grad(f))
    for x in (2.3, 0.6, -0.6, -2.1):
        expected, found = outcome(f, (x,)), outcome(compiled, (x,))
        assert is_same(expected, found), (x, expected, found)
        if expected[0] == "value" and not isinstance(expected[1], dict):
            slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
            np.testing.assert_allclose(derived(x), slope, rtol=1e-6, atol=1e-8)


def test_in_batches():
    x = np.array([2.25, -0.5])
    np.testing.assert_allclose(jit(vmap(in_a_loop))(x), [in_a_loop(v) for v in x])


# -- refused ------------------------------------------------------------------------------


def in_either_order(x):
    d = {}
    if x > 0:
        d["a"] = x
        d["b"] = 1.0
    else:
        d["b"] = 1.0
        d["a"] = x
    t = 0.0
    for v in d.values():
        t = 3 * t + v
    return t


def returned(x):
    d = {"z": 1.0}
    if x > 0:
        d["a"] = x
    return d


def starred(x):
    return len([*returned(x)])


def spread(x):
    return len({**returned(x), "y": 1.0})


def joined_in_place(x):
    e = {"a": 5.0}
    e |= returned(x)
    return e["a"]


def passed_on(x):
    return len(dict(**returned(x)))


def unpacked(x):
    _a, *b = returned(x)
    return len(b)


def matched(x):
    match returned(x):
        case {"a": v}:
            return v
        case _:
            return 0.0


def compared(x):
    return returned(x) == {"z": 1.0}


def a_view_from_before(x):
    d = {"z": 1.0}
    view = d.items()
    if x > 0:
        d["new"] = 1.0
    return sum(b for a, b in view)


def grown_in_its_loop(x):
    d = {"z": 1.0}
    for _ in d:
        if x > 0:
            d["new"] = 1.0
    return len(d)


def in_an_array(x):
    return np.array(list(returned(x)))


REFUSED = [
    in_either_order, starred, spread, joined_in_place, passed_on, unpacked, matched,
    compared, a_view_from_before, grown_in_its_loop, in_an_array,
]  # fmt: skip


@pytest.mark.parametrize("f", REFUSED)
def test_the_rest_is_refused(f):
    for x in (2.0, -2.0):
        with disable_jit(), pytest.raises(errors.CaptureError):
            jit(f)(x)


def test_the_dict_is_left_as_python_leaves_it():
    d = {"z": 1.0}

    def f(x):
        e = d.copy()
        if x > 0:
            e["a"] = x
        return e.get("a", 2.0)

    assert jit(f)(-1.0) == 2.0
    assert d == {"z": 1.0}


def test_the_rewrites_work():
    """The code that the messages about dicts show."""

    def in_an_order(x):
        d = keyed(x)
        total = 0.0
        for name in ("a", "b"):
            if name in d:
                total += d[name]
        return {"a": d.get("a", np.nan)}["a"] + total

    for x in (2.0, -2.0):
        assert jit(in_an_order)(x) == in_an_order(x)


def keyed(x):
    d = {}
    if x > 0:
        d["a"] = x
        d["b"] = 1.0
    else:
        d["b"] = 1.0
        d["a"] = x
    return d
