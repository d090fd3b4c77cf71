"""Derivatives that read elements from a loop's final array: right for every size, without tapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad
from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from tests.ir.autodiff.final.loops import FINAL, REPLACED, in_both_branches, jordan_rows


def matrix(n: int) -> Any:
    a = np.random.default_rng(n).uniform(0.2, 1, (n, n))
    return a @ a.T + n * np.eye(n)


def differences(f: Callable[[Any], Any], a: Any) -> Any:
    """The gradient by central differences in 80-bit floats, accurate to about 1e-11."""
    step = np.longdouble(1e-6)
    result = np.zeros(a.shape)
    for place in np.ndindex(*a.shape):
        high, low = a.astype(np.longdouble), a.astype(np.longdouble)
        high[place] += step
        low[place] -= step
        result[place] = (f(high) - f(low)) / (2 * step)
    return result


@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("f", [*FINAL, *REPLACED], ids=lambda f: f.__name__)
def test_gradient_is_that_of_differences(f: Callable[[Any], Any], n: int) -> None:
    a = matrix(n)
    program, wanted = autojit.trace(grad(f))(a), differences(f, a)
    for each in (program, optimize(program)):
        (got,) = interpret(each, [a, *each.captured])
        np.testing.assert_allclose(got, wanted, 1e-7, 1e-7 * np.max(np.abs(wanted)))


def sizes(program: Program) -> Iterator[int]:
    for op in program.ops:
        yield from (v.type.size for v in op.results)
        for value in op.params.values():
            for body in value if isinstance(value, tuple) else (value,):
                if isinstance(body, Program):
                    yield from sizes(body)


def pushed(program: Program) -> int:
    """The most elements that a step of a loop pushes."""
    found = [0]
    for op in program.ops:
        bodies = [op.params["body"]] if "body" in op.params else list(op.params.get("sweeps", ()))
        found += map(pushed, bodies)
        if op.kind.name == "while":
            counts = op.params["carries"]
            found += [
                sum(v.type.size for v in body.outputs[m:])
                for body, m in zip(bodies, counts, strict=True)
            ]
    return max(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", FINAL, ids=lambda f: f.__name__)
def test_nothing_is_stored_for_a_step(f: Callable[[Any], Any]) -> None:
    program = optimize(autojit.trace(grad(f))(matrix(100)))
    assert max(sizes(program)) == 100 * 100
    assert pushed(program) == 0


def stored(f: Callable[[Any], Any], n: int) -> int:
    """The most elements of an array that the loops of a gradient make."""
    return max(sizes(optimize(autojit.trace(grad(f))(matrix(n)))))


def test_a_step_stores_the_row_that_all_its_inner_steps_read() -> None:
    assert stored(jordan_rows, 40) == 40 * 40
    assert stored(in_both_branches, 40) > 40 * 40


STEP = """(%x: f64[9]) {
  %z: f64[9] = scan %x {body=program step(%i: i64[], %a: f64[9]) {
    %one: i64[] = constant {dtype=i64, shape=(), value=1}
    %j: i64[] = add %i, %one
    %old: f64[] = gather %a, %i {axes=(0,)}
    %s: f64[] = mul %old, %old
    %b: f64[9] = scatter %a, %s, %j {axes=(0,)}
    return %b
  }, carries=1, constants=0, length=8, reverse=False}
  return %z
}"""


@pytest.mark.parametrize(
    ("edit", "stacked"),
    [
        (("", ""), False),
        # The next step writes where this one has read or stored.
        (("scatter %a, %s, %j", "scatter %a, %s, %i"), True),
        (("reverse=False", "reverse=True"), True),
        # The same step does so, afterwards, by an update of the rest of the array.
        (("scatter %a, %s, %j", "add_at %a, %s, %i"), True),
        # The effect of the step on the array is unknown.
        (("return %b", "%c: f64[9] = sin %b\n    return %c"), True),
    ],
)  # fmt: skip
def test_elements_that_are_replaced_are_stored(edit: tuple[str, str], stacked: bool) -> None:
    text = STEP.replace(*edit)
    assert text != STEP or not edit[0]
    program = autojit.parse("program main" + text)
    backward = vjp(program, (0,))
    scan, _ = (op for op in backward.ops if op.kind.name == "scan")
    assert (len(scan.results) > 1) is stacked
    x = np.linspace(0.2, 1, 9)
    (_, got), step = interpret(backward, [x, np.ones(9)]), 1e-6
    wanted = [
        (interpret(program, [x + d])[0] - interpret(program, [x - d])[0]).sum() / (2 * step)
        for d in step * np.eye(9)
    ]
    np.testing.assert_allclose(got, wanted, 1e-6, 1e-8)
