"""Transformations refuse what their conditions leave out, or go another way that is right."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, grad, jit, vmap, while_loop
from autojit.errors import DerivativeError
from autojit.ir.autodiff.hoist import hoist
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.autodiff.min_cut import source_side
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import TypeMismatch
from autojit.ir.passes import optimize
from autojit.ir.regions.segments import in_segments
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from autojit.ir.transforms.gradient import gradient
from tests.ir.modules import TRANSFORMATIONS, documentation

TABLE = np.arange(4.0)


# -- batch: what an element does not come to is not computed for it --------------------


def entry(i: Any) -> Any:
    return cond(i < 4, lambda: np.take(TABLE, i) * 2, lambda: -1.0)


def total_from(i: Any) -> Any:
    """The sum of the entries from one on."""
    return while_loop(
        lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + np.take(TABLE, s[0])), (i, 0.0)
    )[1]


@pytest.mark.parametrize("compiled", [False, True])
def test_branch_that_is_not_taken_may_have_an_index_out_of_bounds(compiled: bool) -> None:
    f = jit(vmap(entry)) if compiled else vmap(entry)
    np.testing.assert_array_equal(f(np.array([1, 7, 3])), [2.0, -1.0, 6.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_elements_that_are_done_read_no_further(compiled: bool) -> None:
    f = jit(vmap(total_from)) if compiled else vmap(total_from)
    np.testing.assert_array_equal(f(np.array([3, 0, 5])), [3.0, 6.0, 0.0])


def test_gradients_of_such_batches() -> None:
    def f(i: Any, table: Any) -> Any:
        picked = cond(i < 4, lambda: np.take(table, i) ** 2, lambda: 0.0)
        rest = while_loop(
            lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + np.take(table, s[0]) ** 2), (i, 0.0)
        )[1]
        return picked + rest

    places = np.array([3, 1, 9])
    got = grad(lambda table: np.sum(vmap(lambda i: f(i, table))(places)))(TABLE + 1.0)
    np.testing.assert_allclose(got, [0.0, 8.0, 12.0 - 6.0, 24.0])
    each = vmap(lambda i: grad(lambda table: f(i, table))(TABLE + 1.0))(places)
    np.testing.assert_allclose(np.sum(each, axis=0), got)


def root(a: Any) -> Any:
    """The sum of a matrix's Cholesky factor; no other operand makes it succeed where it fails."""
    return cond(a[0, 0] > 0, lambda: np.sum(np.linalg.cholesky(a)), lambda: 0.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_branch_that_is_not_taken_may_have_no_factors(compiled: bool) -> None:
    f = jit(vmap(root)) if compiled else vmap(root)
    matrices = np.stack([np.eye(2), -np.eye(2), 4 * np.eye(2)])
    np.testing.assert_allclose(f(matrices), [2.0, 0.0, 4.0])
    slopes = grad(lambda m: np.sum(vmap(root)(m)))(matrices)
    np.testing.assert_allclose(slopes[:, 0, 0], [0.5, 0.0, 0.25])


@pytest.mark.parametrize("compiled", [False, True])
def test_an_index_that_is_wanted_is_checked(compiled: bool) -> None:
    def f(i: Any) -> Any:
        return cond(i < 6, lambda: np.take(TABLE, i), lambda: -1.0)

    g = jit(vmap(f)) if compiled else vmap(f)
    with pytest.raises(IndexError):
        g(np.array([1, 5, 7]))


def test_branches_that_cannot_fail_are_still_computed_together() -> None:
    def f(x: Any) -> Any:
        return cond(x > 0, lambda: np.sin(x), lambda: np.cos(x))

    program = autojit.trace(vmap(f))(np.ones(3))
    assert {op.kind.name for op in program.ops}.isdisjoint({"scan", "switch"})


# -- the others --------------------------------------------------------------------------


BODY = parse(
    "program body(%a: f64[2,2], %b: i64[2], %i: i64[], %x: f64[]) {\n"
    "%f: f64[2,2] = cholesky %a\n%s: f64[] = sum %f {axes=(0, 1)}\n%y: f64[] = mul %x, %s\n"
    "return %y\n}"
)


def test_nothing_is_hoisted_out_of_a_loop_without_steps() -> None:
    constants = [True, True, False, False]
    outer, inner = hoist(BODY, constants, 3)
    assert len(outer.outputs) == 1
    verify(inner)
    outer, inner = hoist(BODY, constants, 0)
    assert not outer.ops
    assert inner is BODY


def test_a_loop_without_steps_does_not_fail() -> None:
    program = parse(
        "program main(%a: f64[2,2], %x: f64[]) {\n"
        "%y: f64[] = scan %a, %x {body=program body(%a: f64[2,2], %i: i64[], %x: f64[]) {\n"
        "%f: f64[2,2] = cholesky %a\n%s: f64[] = sum %f {axes=(0, 1)}\n%y: f64[] = mul %x, %s\n"
        "return %y\n}, carries=1, constants=1, length=0, reverse=False}\nreturn %y\n}"
    )
    (y,) = interpret(optimize(program), [-np.eye(2), 3.0])
    assert y == 3.0
    value, slope = interpret(gradient(program, [1], keep_outputs=True), [-np.eye(2), 3.0])
    assert (value, slope) == (3.0, 1.0)


def test_gradient_is_of_one_inexact_number() -> None:
    for type in ("f64[2]", "i64[]"):
        program = parse(f"program main(%x: {type}) {{\n%y: {type} = mul %x, %x\nreturn %y\n}}")
        with pytest.raises(TypeMismatch, match="a gradient is that of one inexact number; got"):
            gradient(program, [0], keep_outputs=False)


def test_whole_numbers_have_no_tangents() -> None:
    program = parse("program main(%x: i64[]) {\n%y: i64[] = mul %x, %x\nreturn %y\n}")
    with pytest.raises(TypeMismatch, match=r"input 0 of main is i64\[\], which has no tangents"):
        linearize(program, [0])


@pytest.mark.parametrize("line", ["sin %t", "mul %t, %t", "abs %t", "maximum %t, %t"])
def test_what_is_not_linear_is_not_transposed(line: str) -> None:
    program = parse(f"program main(%t: f64[]) {{\n%y: f64[] = {line}\nreturn %y\n}}")
    with pytest.raises(DerivativeError, match="is not linear"):
        transpose(program, 0)


def test_no_cut_where_a_path_cannot_be_cut() -> None:
    edges = [("s", "a", None), ("a", "t", None), ("s", "b", 2), ("b", "a", None)]
    with pytest.raises(ValueError, match="no edge of a path may be cut"):
        source_side(edges, "s", "t")
    source_side([*edges[2:], ("a", "t", 1)], "s", "t")


@pytest.mark.parametrize("size", [0, 5])
def test_segments_are_parts_of_the_loop(size: int) -> None:
    params = {"length": 4, "constants": 0, "carries": 0, "reverse": False}
    with pytest.raises(TypeMismatch, match=f"segments of {size} steps of a loop of 4"):
        in_segments([], params, size, lambda steps: BODY)


# -- what ops declare ------------------------------------------------------------------------


#: An op of each declaration that may fail, and arguments for which it does.
FAILING = {
    "power": ("%a: i64[], %b: i64[]", "%y: i64[] = power %a, %b", [2, -1]),
    "integer_power": ("%a: i64[]", "%y: i64[] = integer_power %a {exponent=-1}", [2]),
    "gather": ("%a: f64[3], %i: i64[]", "%y: f64[] = gather %a, %i {axes=(0,)}", [TABLE[:3], 3]),
    "scatter_add": ("%a: f64[], %i: i64[]",
                    "%y: f64[3] = scatter_add %a, %i {axes=(0,), shape=(3,)}", [1.0, -1]),
    "scatter": ("%x: f64[3], %a: f64[], %i: i64[]", "%y: f64[3] = scatter %x, %a, %i {axes=(0,)}",
                [TABLE[:3], 1.0, 3]),
    "add_at": ("%x: f64[3], %a: f64[], %i: i64[]", "%y: f64[3] = add_at %x, %a, %i {axes=(0,)}",
               [TABLE[:3], 1.0, 3]),
    "cholesky": ("%a: f64[2,2]", "%y: f64[2,2] = cholesky %a", [-np.eye(2)]),
    "eig": ("%a: f64[2,2]", "%y: c128[2], %v: c128[2,2] = eig %a", [np.full((2, 2), np.nan)]),
    "svd": ("%a: f64[2,2]", "%u: f64[2,2], %y: f64[2], %v: f64[2,2] = svd %a",
            [np.full((2, 2), np.nan)]),
    "pinv": ("%a: f64[2,2]", "%y: f64[2,2] = pinv %a {rtol=1e-15}", [np.full((2, 2), np.nan)]),
    "permutation": ("%p: i64[2]", "%y: i64[2] = permutation %p", [np.array([0, 2])]),
    "solve": ("%a: f64[2,2], %l: f64[2,2], %p: i64[2], %b: f64[2,1]",
              "%y: f64[2,1] = solve %a, %l, %p, %b {transpose=False}",
              [np.zeros((2, 2)), np.zeros((2, 2)), np.array([0, 1]), np.ones((2, 1))]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_ops_that_fail_say_so(name: str) -> None:
    inputs, line, arguments = FAILING[name]
    program = parse(f"program main({inputs}) {{\n{line}\nreturn %y\n}}")
    assert program.may_fail
    assert optimize(program).may_fail
    given = [np.asarray(a, t.dtype) for a, t in zip(arguments, program.in_types, strict=True)]
    with pytest.raises((IndexError, ValueError, np.linalg.LinAlgError)):
        interpret(program, given)


def test_ops_with_programs_may_fail_as_these_do() -> None:
    text = (
        "program main(%x: i64[]) {\n"
        "%y: i64[] = switch %x, %x {branches=(program a(%x: i64[]) {\nreturn %x\n}, "
        "program b(%x: i64[]) {\n%y: i64[] = LINE %x, %x\nreturn %y\n})}\nreturn %y\n}"
    )
    assert parse(text.replace("LINE", "power")).may_fail
    assert not parse(text.replace("LINE", "mul")).may_fail


def test_every_op_that_is_seen_to_raise_is_listed() -> None:
    """By the sources: ops whose evaluation raises, or calls what does."""
    words = ("check_bounds", "check_pivots", "LinAlgError", "np.linalg.")
    found = {
        kind.name
        for kind in REGISTRY.values()
        if any(word in inspect.getsource(type(kind).evaluate) for word in words)
    }
    # LAPACK's QR has no failure; which matrices its eigh fails on depends on the library.
    assert found - {"qr", "eigh"} <= FAILING.keys()


# -- what the documents say --------------------------------------------------------------------


@pytest.mark.parametrize("module", sorted(TRANSFORMATIONS))
def test_every_transformation_says_where_it_is_legal(module: str) -> None:
    assert "\nLegal where" in documentation(module)
