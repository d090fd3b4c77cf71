"""`autojit coverage`: its tables, its sample calls, and the page that it writes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import autojit
from autojit.cli.app import app
from autojit.cli.coverage import evidence, gpus
from autojit.cli.coverage.catalogue import NAMESPACES, Function, functions
from autojit.cli.coverage.evidence import Call, Failed, calls, parsed
from autojit.cli.coverage.reasons import OTHERS, REFUSED, reasons
from autojit.cli.coverage.report import Count, as_markdown, versions
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.errors import TargetError
from autojit.errors import UncoveredFunctionError
from autojit.protocols.registry import FUNCTIONS
from autojit.protocols.ufunc_plans import find_answer
from tests.codegen.cuda.running import SMALL, mapped
from tests.samples.special_points import POINTS

PAGE = Path(__file__).resolve().parents[3] / "COVERAGE.md"

#: Sample calls that need another function, which must be covered before they can run.
NEEDS: dict[str, Callable[[], bool]] = {
    "roots": lambda: np.linalg.eigvals in FUNCTIONS,
    "Polynomial": lambda: np.linalg.eigvals in FUNCTIONS,
    "i0": lambda: find_answer(_special("i0")) is not None,
}


def _special(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)


def runnable(call: Call) -> bool:
    for ending, is_there in NEEDS.items():
        if call.name.endswith(ending) and not is_there():
            return False
    owner, _, name = call.name.rpartition(".")
    if owner in ("np.linalg", "np.fft"):
        return getattr(getattr(np, owner[3:]), name) in FUNCTIONS
    return True


RUNNABLE = [call for call in calls() if runnable(call)]


def fails(check: Callable[[Call], Any], some: list[Call]) -> list[str]:
    found = []
    for call in some:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                check(call)
            except Exception as error:
                found.append(f"{call.text}: {type(error).__name__}: {error}"[:300])
    return found


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("check", ["forward", "derivative", "batched"])
@pytest.mark.parametrize("part", range(4))
def test_sample_calls(check: str, part: int) -> None:
    assert fails(getattr(evidence, f"check_{check}"), RUNNABLE[part::4]) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_sample_calls_compiled(part: int) -> None:
    assert fails(evidence.check_compiled, RUNNABLE[part::4]) == []


def compiles_for_a_gpu(function: Callable[..., Any], arguments: Any) -> bool:
    try:
        print_device_source(mapped(autojit.trace(function)(*arguments), SMALL), SMALL)
    except (TargetError, UncoveredFunctionError):  # the second: its values must be known
        return False
    return True


@pytest.mark.sampled(12)
@pytest.mark.parametrize("part", range(12))
def test_what_the_page_says_of_gpus(part: int) -> None:
    groups = [functions(namespace) for namespace in gpus.ON_THE_CPU]
    claims = {
        row.full_name.replace("numpy", "np", 1): row.name in (gpus.compiling(group))
        for group in groups
        for row in group
        if row.state == "covered"
    }
    samples: dict[str, list[Call]] = {}
    for call in RUNNABLE:
        samples.setdefault(call.name, []).append(call)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in sorted(claims.keys() & samples.keys())[part::12]:
            found = [compiles_for_a_gpu(call.function, call.drawn()) for call in samples[name]]
            assert all(found) == claims[name], name


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(12))
def test_what_the_page_says_of_special_functions(part: int) -> None:
    claimed = gpus.FORMULAS["scipy.special"].split()
    in_python = ("log_softmax", "logsumexp", "sinc", "softmax", "softplus")
    values = {name: [[0.5, 2]] for name in in_python}
    for name, points in sorted({**POINTS, **values}.items())[part::12]:
        if isinstance(_special(name), np.ufunc) and find_answer(_special(name)) is None:
            continue
        arguments = [np.asarray(x) for x in points]
        assert compiles_for_a_gpu(of_special(name), arguments) == (name in claimed), name


def of_special(name: str) -> Callable[..., Any]:
    return lambda *x: _special(name)(*x)


def test_most_functions_of_numpy_are_covered() -> None:
    rows = functions("numpy")
    count = Count(rows)
    assert count.covered >= 0.97 * (count.covered + count.refused + count.missing)
    assert [row.name for row in rows if row.state == "missing"] == []


def test_each_covered_function_has_a_sample_call() -> None:
    sampled = evidence.sampled_functions()
    for namespace in ("numpy", "numpy.lib.stride_tricks", "numpy.polynomial"):
        for row in functions(namespace):
            if row.state == "covered":
                assert row.full_name.replace("numpy", "np", 1) in sampled, row.full_name


def test_reasons_name_functions_that_exist() -> None:
    for table in (OTHERS, REFUSED):
        for namespace in table:
            known = {row.name for row in functions(namespace)}
            assert set(reasons(table, namespace)) <= known


def test_wrong_results_are_found() -> None:
    from autojit.tracing.values import is_tracer

    def wrong(x: Any) -> Any:
        return np.sum(x) + is_tracer(x)

    call = parsed("np.sum(x)")._replace(function=wrong)
    for check in (evidence.check_forward, evidence.check_batched, evidence.check_compiled):
        with pytest.raises(Failed, match="NumPy has"):
            check(call)


def test_a_wrong_derivative_is_found() -> None:
    from autojit import stop_gradient

    call = parsed("np.sum(x)")._replace(function=lambda x: np.sum(x * stop_gradient(x)))
    with pytest.raises(Failed, match="difference"):
        evidence.check_derivative(call)


def test_formats() -> None:
    run = CliRunner().invoke
    text = run(app, ["coverage", "numpy.lib.stride_tricks"])
    assert text.exit_code == 0, text.output
    assert "numpy.lib.stride_tricks        2        0        0  100 %" in text.output
    rows = json.loads(run(app, ["coverage", "numpy", "--format", "json"]).stdout)
    states = {row["name"]: (row["state"], row.get("reason")) for row in rows}
    assert states["numpy.sin"] == ("covered", None)
    assert states["numpy.loadtxt"] == ("other", "files")
    assert states["numpy.bmat"] == ("refused", "np.matrix is not covered")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["numpy.maths"],
            "there is no namespace 'numpy.maths'. Did you mean numpy.fft? Namespaces: numpy,",
        ),
        (["--format", "xml"], "--format must be text, json or markdown; got 'xml'"),
    ],
)
def test_wrong_options(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["coverage", *words])
    assert result.exit_code != 0
    assert message in result.output


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    if versions() not in page:
        pytest.skip(f"the page is for other versions than {versions()}")
    rows: list[Function] = [row for name in NAMESPACES for row in functions(name)]
    assert page == as_markdown(rows, {}), "autojit coverage --format markdown -o COVERAGE.md"
