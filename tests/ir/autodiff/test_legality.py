"""Transformations refuse programs that break their conditions, or handle them in another right
way."""

from __future__ import annotations

import inspect
from pathlib import Path
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
from autojit.ir.transforms.jacobian import jacobian
from tests.ir.modules import TRANSFORMATIONS, documentation

ROOT = Path(__file__).parents[3]
TABLE = np.arange(4.0)


# -- batch: what an element does not come to is not computed for it --------------------


def entry(i: Any) -> Any:
    return cond(i < 4, lambda: np.take(TABLE, i) * 2, lambda: -1.0)


def total_from(i: Any) -> Any:
    """The sum of the entries from a given one on."""
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
    """The sum of a matrix's Cholesky factor; it fails for exactly the matrices that have none."""
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
        with pytest.raises(TypeMismatch, match="a gradient needs a single inexact number; got"):
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
    """Found in the sources: ops whose evaluation raises, or calls a function that does."""
    words = ("check_bounds", "check_pivots", "LinAlgError", "np.linalg.")
    found = {
        kind.name
        for kind in REGISTRY.values()
        if any(word in inspect.getsource(type(kind).evaluate) for word in words)
    }
    # LAPACK's QR cannot fail; the matrices on which its eigh fails depend on the library.
    assert found - {"qr", "eigh"} <= FAILING.keys()


def test_jacobians_are_by_inexact_inputs() -> None:
    program = parse("program main(%x: i64[3]) {\n%y: f64[3] = convert %x {dtype=f64}\nreturn %y\n}")
    for forward in (True, False):
        with pytest.raises(TypeMismatch, match="which has no tangents"):
            jacobian(program, [0], forward=forward)


# -- what the documents say --------------------------------------------------------------------

HERE, LOOPS, READS, ROWS = (
    f"tests/ir/{name}.py"
    for name in ("autodiff/test_legality", "autodiff/test_legality_of_loops",
                 "autodiff/final/test_reads", "passes/test_legality")
)  # fmt: skip
#: A test that breaks the condition of each transformation, and its file.
BROKEN = {
    "autodiff.batch": (HERE, "test_branch_that_is_not_taken_may_have_an_index_out_of_bounds"),
    "autodiff.branch_elements": (ROWS, "test_legal_program_is_changed_and_illegal_one_is_left"),
    "autodiff.branch_stores": (ROWS, "test_legal_program_is_changed_and_illegal_one_is_left"),
    "autodiff.final.branches": ("tests/ir/autodiff/final/test_branches.py",
                                "test_facts_hold_in_the_branch_that_is_taken_only"),
    "autodiff.final.integers": ("tests/ir/autodiff/final/test_integers.py",
                                "test_counters_that_may_wrap_around_have_no_form"),
    "autodiff.final.places": (READS, "test_elements_that_are_replaced_are_stored"),
    "autodiff.final.reads": (READS, "test_elements_that_are_replaced_are_stored"),
    "autodiff.final.rows": ("tests/ir/autodiff/final/test_rows.py",
                            "test_rows_of_one_index_are_read_before_a_loop"),
    "autodiff.hoist": (HERE, "test_nothing_is_hoisted_out_of_a_loop_without_steps"),
    "autodiff.indexed_scans": (ROWS, "test_legal_program_is_changed_and_illegal_one_is_left"),
    "autodiff.kept_errors": ("tests/ir/autodiff/test_kept_errors.py",
                             "test_a_derivative_raises_what_the_function_raises"),
    "autodiff.linearize": (HERE, "test_whole_numbers_have_no_tangents"),
    "autodiff.min_cut": (HERE, "test_no_cut_where_a_path_cannot_be_cut"),
    "autodiff.partition": ("tests/ir/autodiff/test_partition.py",
                           "test_op_that_ignores_what_moves_has_one_half_and_reads_zeros_of_its_type"),
    "autodiff.poles": ("tests/ir/autodiff/test_poles.py",
                       "test_a_cotangent_that_is_zero_at_one_point_has_a_derivative"),
    "autodiff.recorded_rules": ("tests/ir/autodiff/test_recorded_rules.py",
                                "test_what_was_not_handed_to_a_rule_is_not_recorded"),
    "autodiff.residuals": ("tests/ir/autodiff/test_residuals.py", "test_what_is_repeated"),
    "autodiff.transpose": (HERE, "test_what_is_not_linear_is_not_transposed"),
    "autodiff.zero_cotangents": (ROWS, "test_legal_program_is_changed_and_illegal_one_is_left"),
    "regions.checkpoint": ("tests/ir/regions/test_calls.py", "test_what_does_not_fit_is_refused"),
    "regions.custom": ("tests/autojit/transformations/test_custom.py",
                       "test_rules_that_are_not_linear"),
    "regions.implicit": ("tests/autojit/solvers/test_implicit.py",
                         "test_a_function_that_is_not_linear_has_no_transpose"),
    "regions.scan": (HERE, "test_a_loop_without_steps_does_not_fail"),
    "regions.scan_derivatives": (LOOPS, "test_a_scan_that_is_not_linear_is_not_transposed"),
    "regions.scan_finals": (READS, "test_elements_that_are_replaced_are_stored"),
    "regions.scan_products": (LOOPS, "test_products_that_stay_in_a_loop"),
    "regions.segments": (HERE, "test_segments_are_parts_of_the_loop"),
    "regions.switch": (HERE, "test_branch_that_is_not_taken_may_have_no_factors"),
    "regions.while_": (HERE, "test_elements_that_are_done_read_no_further"),
    "regions.while_batch": (HERE, "test_elements_that_are_done_read_no_further"),
    "regions.while_finals": (READS, "test_elements_that_are_replaced_are_stored"),
    "regions.while_moving": (LOOPS,
                             "test_a_while_whose_condition_reads_a_tangent_is_not_transposed"),
    "regions.while_narrow": (LOOPS, "test_a_loop_carries_what_something_reads"),
    "regions.while_transpose": (LOOPS, "test_a_while_that_is_not_linear_is_not_transposed"),
    "transforms.gradient": (HERE, "test_gradient_is_of_one_inexact_number"),
    "transforms.jacobian": (HERE, "test_jacobians_are_by_inexact_inputs"),
    "transforms.layouts": ("tests/ir/test_laid_out.py",
                           "test_operations_on_places_read_the_transpose"),
}  # fmt: skip
#: These modules rewrite nothing.
READ_ONLY = {"transforms.memory"}


def test_every_transformation_has_a_test_that_breaks_its_condition() -> None:
    assert BROKEN.keys() == TRANSFORMATIONS - READ_ONLY
    for module, (path, name) in BROKEN.items():
        source = (ROOT / path).read_text("utf-8")
        assert f"def {name}(" in source, module
        assert path != ROWS or f'row("{module}"' in source


@pytest.mark.parametrize("module", sorted(TRANSFORMATIONS))
def test_every_transformation_says_where_it_is_legal(module: str) -> None:
    assert "\nLegal where" in documentation(module)
