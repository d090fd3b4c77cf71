"""Many numbers that are passed as one array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.codegen.driver import packing
from autojit.codegen.driver.executable import Executable
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LEAST", 4)


def mixed(floats: Any, whole: Any, x: Any, flag: Any) -> Any:
    total = np.where(flag, 1.0, 2.0) + sum(floats) * sum(whole) + floats[2] * np.sum(x)
    return [total * f for f in floats], x * floats[0], whole[0] + 1


FLOATS, WHOLE = [0.5, -1.5, 2.0, 0.25, 3.0], [1, 2, 3, 4, 5]


def test_the_packed_program_computes_the_same() -> None:
    arguments = [*FLOATS, *WHOLE, np.arange(3.0), True]
    program = autojit.trace(mixed)(FLOATS, WHOLE, np.arange(3.0), True)
    found = packing.packing(program)
    assert found is not None
    verify(found.program)
    assert [str(t) for t in found.program.in_types] == ["f64[5]", "i64[5]", "f64[3]", "bool[]"]
    assert [str(t) for t in found.program.out_types] == ["f64[5]", "f64[3]", "i64[]"]
    got = interpret(found.program, [np.array(FLOATS), np.array(WHOLE), np.arange(3.0), True])
    want = interpret(program, arguments)
    np.testing.assert_array_equal(got[0], want[:5])
    np.testing.assert_array_equal(got[1], want[5])
    assert got[2] == want[6]


def test_calls_return_what_they_returned_one_by_one() -> None:
    compiled = jit(mixed)
    for _ in range(2):
        scaled, array, count = compiled(FLOATS, WHOLE, np.arange(3.0), 1.0)
        wanted = mixed(FLOATS, WHOLE, np.arange(3.0), 1.0)
        assert [type(v) for v in scaled] == [np.float64] * 5
        assert type(count) is np.int64
        np.testing.assert_allclose(scaled, wanted[0], rtol=1e-15)
        np.testing.assert_array_equal(array, wanted[1])
        assert count == 2


def test_other_types_of_numbers_are_other_signatures() -> None:
    f = jit(lambda p: [2 * v for v in p])
    assert f([1.0] * 5) == [2.0] * 5
    assert [type(v) for v in f([1] * 5)] == [np.int64] * 5
    assert [type(v) for v in f([1.0] * 5)] == [np.float64] * 5
    assert [v.dtype for v in f([np.float32(1)] * 5)] == [np.float32] * 5
    assert f([1.0, 2.0, np.float64(3), np.array(4.0), 5.0]) == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert f([np.float64(1), 2.0, 3.0, np.array(4.0), np.float64(5.0)]) == [
        2.0,
        4.0,
        6.0,
        8.0,
        10.0,
    ]
    assert f([np.ones(2)] * 5)[0].tolist() == [2.0, 2.0]
    assert f.cache_info().traces == 6


def test_an_array_in_the_place_of_a_number_is_no_number() -> None:
    f = jit(lambda *p: sum(p))
    given = [np.array(1.0)] * 5
    assert f(*given) == 5.0
    assert f(*given[:4], np.ones(2)).tolist() == [5.0, 5.0]
    assert f(*given[:4], np.array(1, np.float32)) == 5.0
    assert f(*given) == 5.0


def test_a_large_integer_raises_as_it_does_alone() -> None:
    f = jit(lambda p: sum(p))
    assert f([1] * 5) == 5
    with pytest.raises(OverflowError):
        f([1, 1, 1, 1, 2**63])


def test_too_few_and_too_many_arguments() -> None:
    f = jit(lambda *p: sum(p))
    assert f(*FLOATS) == sum(FLOATS)
    assert f(*FLOATS, 1.0) == sum(FLOATS) + 1
    assert f(*FLOATS[:4]) == sum(FLOATS[:4])


def test_gradients_by_lists_and_dicts() -> None:
    def f(p: Any) -> Any:
        return sum(v * v for v in p["w"]) * p["b"]

    p = {"w": FLOATS, "b": 2.0}
    for derived in (grad(f), jit(grad(f))):
        for _ in range(2):
            made = derived(p)
            np.testing.assert_allclose(made["w"], 4 * np.array(FLOATS))
            np.testing.assert_allclose(made["b"], np.sum(np.square(FLOATS)))


def test_numbers_that_are_bound() -> None:
    program = autojit.trace(lambda *p: sum(p) * 2.0)(*FLOATS)
    code = Executable(program)
    assert (
        code.direct((float, float, float), [np.array(v) for v in FLOATS[3:]], as_tuple=False)
        is None
    )
    assert code.call([np.array(v) for v in FLOATS]) == [2 * sum(FLOATS)]


def test_stages_show_what_is_compiled() -> None:
    text = jit(lambda p: sum(p)).lower(FLOATS).text("optimized")
    assert "f64[5]" in text


def test_few_numbers_stay_as_they_are() -> None:
    assert packing.packing(autojit.trace(lambda a, b: a + b)(1.0, 2.0)) is None
