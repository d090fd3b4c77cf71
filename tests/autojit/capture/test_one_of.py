"""Strings, functions and members of enums that a traced condition chooses behave as in Python."""

from __future__ import annotations

import enum

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import CaptureError, ConcreteValueError


class Mode(enum.Enum):
    HEAT = 1
    COOL = 2
    OFF = 3


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def kernel_by_name(x):
    kind = "matern" if x > 1 else "gauss"
    total = 0.0
    for d in (0.1, 0.5, 1.0):
        if kind == "gauss":
            total += np.exp(-d * d / x)
        else:
            total += (1 + d / x) * np.exp(-d / x)
    return total


def function_of_numpys(x):
    f = np.sin if x > 1 else np.cos
    return f(x) * 2


def closures(x):
    calls = 0

    def squared(v):
        nonlocal calls
        calls += 1
        return v * v

    def negated(v):
        return -v

    f = squared if x > 1 else negated
    return f(x) + f(x + 1) + calls


def machine(x):
    state, total = "idle", 0.0
    for k in range(60):
        if state == "idle":
            if x * k > 2:
                state = "run"
        elif state in ("run", "late"):
            total += x
            if total > 5:
                state = "done"
        else:
            break
    return total


def thermostat(x):
    t, mode, energy = 17 + x, Mode.OFF, 0.0
    for _ in range(40):
        if t < 19:
            mode = Mode.HEAT
        elif t > 22:
            mode = Mode.COOL
        if mode is Mode.HEAT:
            t += 0.5
            energy += 0.5 * t
        elif mode == Mode.COOL:
            t -= 0.3
            energy += mode.value
        t += 0.05 * (15 - t)
    return energy + t


def identity_of_integers(x):
    level = Level.HIGH if x > 1 else Level.LOW
    return x * 2 if level is Level.HIGH else x * 3


def looked_up(x):
    rates = {"slow": 0.5 * x, "fast": 2.0 * x}
    kind = "fast" if x > 1 else "slow"
    rates[kind] += 1.0
    return rates[kind] * rates["slow"] + len(kind)


def matched(x):
    kind = "a" if x > 2 else "b" if x > 1 else "c"
    match kind:
        case "a":
            return x
        case "b":
            return x * x
        case _:
            return -x


def of_a_list(x):
    f = np.sin if x > 1 else np.cos
    values = np.zeros(2)
    values[0] = sum([f(v) for v in (x, 1.0, -1.0) if v > 0])
    return values[0] + sum(f(x + k) for k in range(3))


def or_none(x):
    kind = None
    if x > 1:
        kind = "big"
    return x if kind is None else x * 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("x", [0.4, 1.3, 5.3])
@pytest.mark.parametrize(
    "f",
    [kernel_by_name, function_of_numpys, closures, machine, thermostat, identity_of_integers,
     looked_up, matched, of_a_list, or_none],
)  # fmt: skip
def test_objects_by_a_condition(f, x):
    expected = f(x)
    assert np.allclose(jit(f)(x), expected, rtol=1e-12)
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    assert np.allclose(jit(grad(f))(x), slope, rtol=1e-5)


def as_text(x):
    kind = "a" if x > 0 else "bc"
    return len(f"{kind}") * x


def of_other_lengths(x):
    kind = "a" if x > 0 else "bc"
    return len(kind) * x


def made_anew(x):
    f, k = np.sin, 0.0
    while k < x:
        k += 1
        if x > 3:
            f = lambda v, w=k: v + w  # noqa: E731
    return f(x)


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (made_anew, CaptureError, "(?s)`f` is a function.*Create it before the loop"),
        (as_text, ConcreteValueError, "Compare it instead"),
        (of_other_lengths, ConcreteValueError, "its length"),
    ],
)
def test_what_cannot_be_compiled_is_refused(f, error, words):
    with pytest.raises(error, match=words):
        jit(f)(1.0)
