"""``autojit doctor`` and its probes; what is printed on narrow and on ASCII terminals."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

import autojit
from autojit.cli.app import app
from autojit.cli.common import terminal
from autojit.cli.upkeep import probes
from autojit.cli.upkeep.doctor import run_probe
from autojit.cli.upkeep.probes import Finding, widest_registers


def test_doctor_finds_everything_working() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[-1] == "Everything that autojit needs works."
    names = [line[2:14].strip() for line in lines]
    assert names[:9] == [*probes.PROBES]
    assert lines[2][14:].startswith(" caches of "), lines[2]
    assert all(line[0] in "✓–" for line in lines[:-1])


@pytest.mark.parametrize("state", ["failed", "raises"])
def test_doctor_fails_with_a_probe(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def probe() -> Finding:
        if state == "raises":
            raise OSError("no library\nmore")
        return Finding("failed", "wrong")

    monkeypatch.setattr(probes, "PROBES", {"BLAS": probe, "well": lambda: Finding("ok", "good")})
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    words = "wrong" if state == "failed" else "OSError: no library"
    assert (
        result.stdout == f"✗ BLAS         {words}\n✓ well         good\nSomething does not work.\n"
    )


def test_probe_of_gradients_sees_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.ir.ops import elementary

    monkeypatch.setattr(elementary.tanh, "rules", [lambda t, y, x: t])
    (found,) = run_probe(probes.gradients)
    assert found.state == "failed"
    assert found.words.startswith("derivative of order 1 (forward): wrong with respect to")


def test_probe_of_vector_math_sees_a_wrong_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autojit, "jit", lambda f: lambda x: f(x) * (1 + 1e-14))
    (found,) = run_probe(probes.vector_math)
    assert found.state == "failed"


def test_vector_registers_are_read_from_packed_arithmetic() -> None:
    assembly = "\tvmovups\t%zmm0, (%rax)\n\tvfmadd213pd\t%ymm1, %ymm2, %ymm3\n"
    assert widest_registers(assembly) == Finding(
        "ok", "256 bits, 4 float64 at a time (ymm registers in compiled code)"
    )
    found = widest_registers("\tfmla\tv0.2d, v1.2d, v2.2d\n")
    assert found is not None
    assert "NEON" in found.words
    assert widest_registers("\tvmulsd\t%xmm0, %xmm1, %xmm2\n") is None


# -- terminals ----------------------------------------------------------------


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    "words", [[], ["dump"], ["check"], ["run"], ["bench"], ["doctor"], ["cache"], ["cache", "why"]]
)
def test_help_fits(words: list[str], columns: int) -> None:
    result = CliRunner().invoke(app, [*words, "--help"], terminal_width=columns)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert "Usage: autojit" in result.stdout


def narrow(encoding: str = "utf-8") -> tuple[Console, io.BytesIO]:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    return Console(file=out, force_terminal=True, width=60, color_system=None), raw


def test_report_lines_wrap_in_their_column() -> None:
    out, raw = narrow()
    terminal.state_line(out, "ok", "vector math", "exp 0.94, expm1 1.03, log 0.50, log1p 0.69")
    terminal.state_line(out, "absent", "CUDA", "not installed")
    assert raw.getvalue().decode().splitlines() == [
        "✓ vector math  exp 0.94, expm1 1.03, log 0.50, log1p 0.69",
        "– CUDA         not installed",
    ]
    out, raw = narrow()
    terminal.state_line(out, "failed", "BLAS", "a library with a name that is quite long, indeed")
    assert raw.getvalue().decode().splitlines() == [
        "✗ BLAS         a library with a name that is quite long,",
        "               indeed",
    ]


def test_ascii_terminals_have_words_for_marks() -> None:
    out, raw = narrow("ascii")
    for state in ("ok", "failed", "absent"):
        terminal.state_line(out, state, "name", "2 × 3")
    assert raw.getvalue().decode("ascii").splitlines() == [
        "ok   name         2 x 3",
        "FAIL name         2 x 3",
        "-    name         2 x 3",
    ]
