"""The pages of ``--help``: complete, narrow enough, and their examples run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from autojit.cli.common import help as pages
from autojit.cli.looking.dump import FORMATS
from autojit.cli.looking.pictures import PICTURES
from autojit.cli.running.bench import Timing
from autojit.staging.inspection import STAGES
from tests.autojit.cli.commands import FUNCTIONS, SCRIPT, all_commands, call, printed

COMMANDS = all_commands()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", ["", "cache", *COMMANDS])
def test_page_fits_and_names_everything(name: str, columns: int) -> None:
    page = printed(*name.split(), "--help", COLUMNS=str(columns))
    assert max(map(len, page.splitlines())) <= columns
    assert page.startswith("Usage: autojit")
    options = [option for option in getattr(COMMANDS.get(name), "params", ()) if option.opts]
    for word in [name for o in options for name in o.opts if name.startswith("-")]:
        assert re.search(rf"(^|\s){re.escape(word)}\b", page), word


def test_all_commands_are_listed_in_groups() -> None:
    page = printed("--help")
    tops = {name.split()[0] for name in COMMANDS}
    assert {name for name in tops if not re.search(rf"^  {name} ", page, re.M)} == set()
    assert "More commands:" not in page
    assert [page.index(f"  {name} ") for name in ("check", "bench", "dump", "run", "doctor")] == (
        sorted(page.index(f"  {name} ") for name in ("check", "bench", "dump", "run", "doctor"))
    )


def test_exit_codes_and_arguments_are_explained() -> None:
    page = printed("--help")
    sections = page.split("Exit codes:\n")[1].split("\n\n")[0]
    assert re.findall(r"^  (\d+) ", sections, re.M) == ["0", "1", "2", "130", "141"]
    for form in ("f64[100,3]", "@x.npy", "rate=0.1", "range(10)"):
        assert form in page


def test_dump_names_every_stage_and_format() -> None:
    page = printed("dump", "--help")
    assert re.findall(r"^  (\w+)  ", page.split("Stages:\n")[1].split("\n\n")[0], re.M) == [
        *STAGES,
        "all",
    ]
    (formats,) = re.findall(r"--format FORMAT\s+(.*?) ?(?:\.|\()", page)
    assert set(re.findall(r"\w+", formats)) - {"or"} == {*FORMATS, *PICTURES}


def test_pages_without_arguments_are_those_of_help() -> None:
    assert printed() == printed("--help") == printed("-h")
    assert printed("cache") == printed("cache", "--help")


def run_line(line: str) -> None:
    """Run an example, with pipes, as a shell does."""
    given = None
    for part in line.split(" | "):
        words = shlex.split(part)
        assert words[0] == "autojit"
        result = call(*words[1:], stdin=given)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        given = result.stdout


def once(f: Callable[..., Any], args: Sequence[Any], seconds: float) -> Timing:
    """Call f once; stands for `time_call`, which calls for half a second."""
    f(*args)
    return Timing(seconds, seconds)


@pytest.mark.sampled(11)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autojit.cli.upkeep.probes.PROBES", {})  # the probes have their own tests
    monkeypatch.setattr("autojit.cli.running.bench.time_call", once)
    page = printed(*name.split(), "--help", COLUMNS="500")
    section = page.split("\nExamples:\n")[1].split("\n\n")[0].replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in section.splitlines()]
    assert 1 <= len(lines) <= 3
    assert all(f"autojit {name}" in line or "| autojit" in line or "-o " in line for line in lines)
    for line in lines:
        run_line(line)


def test_the_files_of_the_examples_are_shown_and_are_those_of_the_tests() -> None:
    page = printed("--help")
    for name, text in zip(pages.EXAMPLE_FILES, (FUNCTIONS, SCRIPT), strict=True):
        shown = page.split(f"\n{name}:\n")[1].split("\n\n")[0]
        lines = [line[2:] for line in shown.rstrip().splitlines()]
        compile("\n".join(lines), name, "exec")
        assert [line for line in lines if line.removeprefix("print(").rstrip(")") not in text] == []
    assert "autojit --help shows the functions.py of the examples" in printed("run", "--help")
    assert "autojit --help shows the script.py of the examples" in printed("profile", "--help")
    assert "of the examples" not in printed("doctor", "--help")


def test_long_examples_are_continued_so_that_they_can_be_pasted() -> None:
    page = printed("dump", "--help", COLUMNS="60")
    section = page.split("\nExamples:\n")[1].split("\n\n")[0]
    wide = printed("dump", "--help", COLUMNS="500").split("\nExamples:\n")[1].split("\n\n")[0]
    assert "\\\n" in section
    narrow, wide = ([shlex.split(line) for line in text.replace("\\\n", " ").splitlines()]
                    for text in (section, wide))  # fmt: skip
    assert narrow == wide


# -- JSON -----------------------------------------------------------------------------

#: Commands without JSON, and the sentence in which their page says so.
NO_JSON = {
    "completion": "There is no JSON: the result is a script.",
    "mistakes": "There is no JSON: the result is a page for readers.",
    "profile": "JSON is written by -o FILE.json.",
    "source": "There is no JSON: the result is source code.",
}

CALLS: dict[str, list[tuple[list[str], str]]] = {
    "check": [(["functions.py:loss", "f64[3]", "f64[4,3]", "--order", "1"], "")],
    "bench": [(["functions.py:loss", "f64[3]", "f64[4,3]", "--seconds", "0.01"], "")],
    "dump": [
        (["functions.py:loss", "f64[3]", "f64[4,3]"], "--stage trace, optimized"),
        (["functions.py:loss", "f64[3]", "f64[4,3]", "--passes"], "--passes"),
        (["functions.py:loss", "f64[3]", "f64[4,3]", "--remarks"], "--remarks"),
    ],
    "explain": [(["functions.py:loss", "f64[3]", "f64[4,3]"], "")],
    "diff": [(["functions.py:loss", "functions.py:loss", "f64[3]", "f64[4,3]"], "")],
    "run": [(["p.ir"], "")],
    "opt": [(["p.ir", "--passes", "dce"], "FILE"), (["--list"], "--list")],
    "coverage": [(["numpy.fft"], "")],
    "doctor": [([], "")],
    "cache path": [([], "")],
    "cache ls": [([], "")],
    "cache clear": [([], "")],
    "cache why": [(["functions.py:loss", "f64[3]", "f64[4,3]"], "")],
}


def test_every_command_has_json_or_says_why_not() -> None:
    assert {name for name, command in COMMANDS.items() if "--format" not in _options(command)} == (
        set(NO_JSON)
    )
    for name, reason in NO_JSON.items():
        assert reason in " ".join(printed(name, "--help").split())


def _options(command: Any) -> list[str]:
    return [name for option in command.params for name in option.opts]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "words", "part"),
    [(name, words, part) for name, rows in CALLS.items() for words, part in rows],
)
def test_json_has_the_documented_shape(
    folder: Path, name: str, words: list[str], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autojit.cli.upkeep import probes

    kept = {key: probes.PROBES[key] for key in ("machine", "vectors")}
    monkeypatch.setattr("autojit.cli.upkeep.probes.PROBES", kept)
    (folder / "p.ir").write_text("program p(%0: f64[3]) {\n  return %0\n}", encoding="utf-8")
    found = json.loads(
        printed(*name.split(), *words, "--format", "json"), parse_constant=lambda word: 1 / 0
    )
    documented = shape(name, part)
    if isinstance(found, list):
        (keys,) = documented.values()
        assert all(
            row.keys() <= set(keys) and set(keys) - row.keys() <= {"reason"} for row in found
        )
        return
    assert found.keys() == documented.keys()
    for key, keys in documented.items():
        for row in found[key] if keys else []:
            assert list(row) in keys if isinstance(keys[0], list) else list(row) == keys, key


def shape(name: str, part: str) -> dict[str, Any]:
    """Return the keys that a page documents; a list maps to the keys of its rows."""
    section = dict(pages.parts(COMMANDS[name].help)[1])["JSON"]
    rows = dict(re.split(r"\s{2,}", row, maxsplit=1) for row in section.splitlines() if "  " in row)
    if part:
        words = rows[part].split(" (")[0]
        if words.startswith("a list of: "):
            return {"": words.removeprefix("a list of: ").split(", ")}
        return dict.fromkeys(words.split(", "))
    if not rows:
        return {
            "": re.findall(
                r"\w+", section.split("list of:")[1].replace("where it is not covered", "")
            )
        }
    return {key: row_keys(words) for key, words in rows.items()}


def row_keys(words: str) -> list[Any] | None:
    if not words.startswith("a list of: "):
        return None
    ways = [re.sub(r" \(.*?\)", "", way).split(", ") for way in words[11:].split("; or ")]
    return ways if len(ways) > 1 else ways[0]


@pytest.mark.usefixtures("folder")
def test_errors_leave_stdout_empty_or_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    result = call("check", "functions.py:loss", "f64[3]", "f64[4,2]", "--format", "json")
    assert (result.exit_code, result.stdout) == (1, "")
    from autojit.ir.ops import elementary

    monkeypatch.setattr(elementary.tanh, "rules", [lambda t, y, x: t])
    result = call(
        "check", "functions.py:loss", "f64[3]", "f64[4,3]", "--format", "json", "--interpret"
    )
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert not found["agrees"]
    assert not found["derivatives"][-1]["agrees"]
    assert result.stderr.startswith("error: derivative of order 1")


@pytest.mark.usefixtures("folder")
def test_numbers_that_json_lacks_are_strings() -> None:
    program = "program p(%0: f64[2], %1: c128[]) {\n  return %0, %1\n}"
    found = json.loads(printed("run", "-", "[inf, nan]", "1+2j", "--format", "json", stdin=program))
    assert [row["value"] for row in found["results"]] == [["inf", "nan"], "(1+2j)"]
