"""Control flow as values, and functions that take functions, inside of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz import expressions as e
from tests.fuzz.statements import BASIC, Statement, write_some
from tests.fuzz.writer import Writer

#: The most levels of nested functions.
DEEPEST = 2


def _body(w: Writer, parameters: dict[str, Any], count: int | None = None) -> Writer:
    """The lines of a body: ordinary statements and, up to some depth, nested loops."""
    inner = w.inner(parameters)
    table = [*BASIC, *(CONTROL if inner.depth < DEEPEST else [])]
    write_some(inner, table, w.rng.randint(0, 2) if count is None else count)
    return inner


def _zero(value: Any) -> Any:
    return np.copy(value)[()]


def _next(inner: Writer, c: str) -> str:
    """An expression of a carry's type that does not grow without bound."""
    value = np.asarray(inner.value(c))
    if value.dtype.kind in "iub":
        return f"{c} + 1" if value.dtype.kind in "iu" else f"~{c}"
    found = e.like(inner, value.shape, value.dtype)
    mixed = [
        f"0.5 * {c} + 0.3 * np.sin({found or c})",
        f"np.tanh({c} + ({found or c}))",
        f"{c} - 0.1 * ({found or c})",
        f"{c} * 0.9",
    ]
    return str(inner.pick([*mixed, found] if found else mixed))


def _start(w: Writer) -> str | None:
    """A float that can be the initial value of a carry."""
    known = [n for n in w.arrays("f") if isinstance(w.value(n), (np.ndarray, np.generic))]
    known = [n for n in known if np.size(w.value(n)) <= w.most // 4]
    return w.pick(known) if known else None


def _call(w: Writer, body: list[str], call: str, binds: tuple[str, ...]) -> bool:
    return w.write(*body, call, binds=binds)


def _carries(w: Writer) -> list[str] | None:
    first = _start(w)
    if first is None:
        return None
    return [s for s in (first, *(_start(w) for _ in range(w.rng.choice([0, 0, 1, 2])))) if s]


def scan(w: Writer) -> bool:
    starts = _carries(w)
    rows = [n for n in w.arrays("f", 1) if len(w.value(n)) <= 300]
    if not starts or not rows:
        return False
    xs = w.pick(rows) if w.maybe(0.8) and len(w.value(w.pick(rows))) else None
    if xs is not None and not len(w.value(xs)):
        return False
    carries = [f"c{k}_{w.depth}" for k in range(len(starts))]
    parameters = {c: _zero(w.value(s)) for c, s in zip(carries, starts, strict=True)}
    if xs is not None:
        parameters[row := f"r{w.depth}"] = _zero(w.value(xs)[0])
    inner = _body(w, parameters)
    nexts = [_next(inner, c) for c in carries]
    y = w.pick([carries[0], e.floats(inner, 1), "None", f"({carries[-1]}, {e.floats(inner, 1)})"])
    f, state, ys = w.new("step"), w.new("state"), w.new("ys")
    tree = carries[0] if len(carries) == 1 else f"({', '.join(carries)})"
    made = nexts[0] if len(nexts) == 1 else f"({', '.join(nexts)})"
    begin = starts[0] if len(starts) == 1 else f"({', '.join(starts)})"
    last = row if xs is not None else "_"
    lines = [
        f"def {f}(state, {last}):",
        f"    {tree} = state",
        *inner.lines,
        f"    return {made}, {y}",
    ]
    given = (
        f"{xs}"
        if xs is not None
        else f"length={w.pick([0, 1, 3, 7, 40]) if y == 'None' else w.pick([1, 3, 7])}"
    )
    more = w.pick(["", "", ", reverse=True", ', checkpoint="sqrt"', ", checkpoint=2"])
    if not w.write(*lines, f"{state}, {ys} = scan({f}, {begin}, {given}{more})"):
        return False
    return _unpack(w, state, len(starts)) and _unpack(
        w,
        ys,
        {"None": 0}.get(
            y,
            2
            if y[0] == "(" and y.endswith(")") and ", " in y and y.startswith(f"({carries[-1]},")
            else 1,
        ),
    )


def _unpack(w: Writer, name: str, count: int) -> bool:
    """Bind names to the parts of a tree."""
    if count == 0:
        return True
    if count == 1:
        w.bind(name)
        return True
    parts = []
    for _ in range(count):
        parts.append(w.new("v"))
        w.space[parts[-1]] = 0.0
    return w.write(f"{', '.join(parts)} = {name}", binds=tuple(parts))


def fori(w: Writer) -> bool:
    starts = _carries(w)
    if not starts:
        return False
    carries = [f"c{k}_{w.depth}" for k in range(len(starts))]
    parameters = {c: _zero(w.value(s)) for c, s in zip(carries, starts, strict=True)}
    index = f"i{w.depth}"
    inner = _body(w, {**parameters, index: np.int64(1)})
    arrays = [n for n in inner.arrays("f", 1) if len(inner.value(n)) > 4]
    nexts = [_next(inner, c) for c in carries]
    if arrays and w.maybe(0.5):
        x = w.pick(arrays)
        nexts[0] = f"{nexts[0]} + 0.1 * np.sum({x}[{index} % len({x})])"
    f, state = w.new("step"), w.new("state")
    tree = carries[0] if len(carries) == 1 else f"({', '.join(carries)})"
    made = nexts[0] if len(nexts) == 1 else f"({', '.join(nexts)})"
    begin = starts[0] if len(starts) == 1 else f"({', '.join(starts)})"
    low, high = w.pick([("0", "3"), ("1", "4"), ("0", "0"), ("0", "12"), ("2", "1"), ("0", "1")])
    if w.maybe(0.3):  # a bound that is known only at run time
        known = w.arrays("f", 1)
        high = f"np.sum({w.pick(known)} > 0.0) % 5" if known else high
    lines = [f"def {f}({index}, state):", f"    {tree} = state", *inner.lines, f"    return {made}"]
    if not w.write(*lines, f"{state} = fori_loop({low}, {high}, {f}, {begin})"):
        return False
    return _unpack(w, state, len(starts))


def while_(w: Writer) -> bool:
    """A loop that counts, and may end early."""
    starts = _carries(w)
    if not starts:
        return False
    carries = [f"c{k}_{w.depth}" for k in range(len(starts))]
    parameters = {c: _zero(w.value(s)) for c, s in zip(carries, starts, strict=True)}
    inner = _body(w, {**parameters, "n": np.int64(0)})
    nexts = [_next(inner, c) for c in carries]
    f, state = w.new("step"), w.new("state")
    most = w.pick([0, 1, 3, 8, 20])
    early = w.pick(
        [
            "",
            f" & (np.sum({carries[0]}) > {e.constant(w)})",
            f" & (np.max(np.abs({carries[-1]}), initial=0.0) < 1.4)",
        ]
    )
    lines = [
        f"def {f}(state):",
        f"    n, {', '.join(carries)} = state",
        *inner.lines,
        f"    return (n + 1, {', '.join(nexts)})",
        f"def more{f}(state):",
        f"    n, {', '.join(carries)} = state",
        f"    return (n < {most}){early}",
        f"{state} = while_loop(more{f}, {f}, (0, {', '.join(starts)}))",
    ]
    if not w.write(*lines):
        return False
    return _unpack(
        w, f"{state}[1:]" if len(starts) > 1 else state, len(starts) + (len(starts) == 1)
    )


def cond(w: Writer) -> bool:
    start = _start(w)
    if start is None:
        return False
    p = f"p{w.depth}"
    branches = []
    for _ in range(2 if w.maybe(0.7) else 3):
        inner = _body(w, {p: _zero(w.value(start))}, w.rng.randint(0, 1))
        branches.append((w.new(f"branch{len(branches)}_"), inner, _next(inner, p)))
    lines = [
        line for f, inner, result in branches for line in inner_function(f, [p], inner, result)
    ]
    name = w.new()
    if len(branches) == 2:
        test = w.pick([f"np.sum({start}) > {e.constant(w)}", "True", e.scalar(w, 1) + " > 0.3"])
        call = f"cond({test}, {branches[0][0]}, {branches[1][0]}, {start})"
    else:
        number = w.pick(["1", f"np.sum({start} > 0)", "7"])
        call = f"switch({number}, [{', '.join(f for f, _, _ in branches)}], {start})"
    return _call(w, lines, f"{name} = {call}", (name,))


def inner_function(name: str, parameters: list[str], inner: Writer, result: str) -> list[str]:
    return [f"def {name}({', '.join(parameters)}):", *inner.lines, f"    return {result}"]


def checkpointed(w: Writer) -> bool:
    start = _start(w)
    if start is None:
        return False
    p, f, name = f"p{w.depth}", w.new("part"), w.new()
    inner = _body(w, {p: _zero(w.value(start))}, w.rng.randint(1, 3))
    lines = inner_function(f, [p], inner, e.floats(inner, 2))
    policy = w.pick(["", "", ', policy="everything"', ', policy="dots"'])
    return _call(w, lines, f"{name} = checkpoint({f}{policy})({start})", (name,))


def mapped(w: Writer) -> bool:
    """``vmap`` or ``map`` over the rows of an array."""
    rows = [n for n in w.arrays("f", 1) if 0 < len(w.value(n)) <= 300]
    if not rows:
        return False
    x, p, f, name = w.pick(rows), f"p{w.depth}", w.new("row"), w.new()
    inner = _body(w, {p: _zero(w.value(x)[0])})
    lines = inner_function(f, [p], inner, e.floats(inner, 2))
    form = w.pick(["vmap({})({})", "map({}, {})", "vmap({}, out_axes=-1)({})", "vmap(jit({}))({})"])
    return _call(w, lines, f"{name} = {form.format(f, x)}", (name,))


def with_rule(w: Writer) -> bool:
    """A function with a user-defined rule, which gives the derivative that it has anyway."""
    start = _start(w)
    if start is None:
        return False
    f, name = w.new("rule"), w.new()
    value, slope = w.pick(
        [
            ("np.sin(u)", "np.cos(u)"),
            ("u * u * u", "3.0 * u * u"),
            ("np.tanh(u)", "(1.0 - np.tanh(u) ** 2)"),
            ("2.0 * u", "2.0"),
        ]
    )
    if w.maybe(0.5):
        rule = f"{f}.defvjp(lambda u: ({value}, u), lambda u, t: ({slope} * t,))"
        kind = "custom_vjp"
    else:
        rule = f"{f}.defjvp(lambda us, ts: (lambda u, t: ({value}, {slope} * t))(us[0], ts[0]))"
        kind = "custom_jvp"
    lines = [f"{f} = {kind}(lambda u: {value})", rule]
    return _call(w, lines, f"{name} = {f}({start})", (name,))


def accumulated(w: Writer) -> bool:
    rows = [n for n in w.arrays("f", 1) if 0 < len(w.value(n)) <= 64]
    if not rows:
        return False
    x, name = w.pick(rows), w.new()
    form = w.pick(
        [
            "associative_scan(np.maximum, {})",
            "associative_scan(np.add, {}, reverse=True)",
            "associative_scan(lambda a, b: a + b, {}, axis=-1)",
            "associative_scan(np.multiply, np.tanh({}))",
        ]
    )
    return _call(w, [], f"{name} = {form.format(x)}", (name,))


def derivative(w: Writer) -> bool:
    """A derivative inside of the function."""
    start = _start(w)
    if start is None or np.size(w.value(start)) > 6 or w.depth > 0:
        return False
    p, f, name = f"p{w.depth}", w.new("inner"), w.new()
    control, w.control = w.control, False
    inner = w.inner({p: _zero(w.value(start))})
    write_some(inner, BASIC, w.rng.randint(0, 2))
    w.control = control
    lines = inner_function(f, [p], inner, f"np.sum({e.floats(inner, 2)} * {p})")
    form = w.pick(
        [
            "grad({f})({x})",
            "jit(grad({f}))({x})",
            "jvp({f}, ({x},), ({x} * 0.5,))[1]",
            "value_and_grad({f})({x})[1]",
            "vjp({f}, {x})[1](1.0)[0]",
            "linearize({f}, {x})[1]({x})",
        ]
    )
    return _call(w, lines, f"{name} = {form.format(f=f, x=start)}", (name,))


CONTROL: list[tuple[Statement, int]] = [
    (scan, 3),
    (fori, 2),
    (while_, 2),
    (cond, 2),
    (checkpointed, 2),
    (mapped, 2),
    (with_rule, 1),
    (accumulated, 1),
]
INNER_DERIVATIVES: list[tuple[Statement, int]] = [(derivative, 3)]

Body = Callable[[Writer], bool]
