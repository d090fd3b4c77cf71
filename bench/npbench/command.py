"""`python -m bench npbench --checkout PATH [KERNEL…]`: NPBench's NumPy kernels, as they are."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import machine
from bench.client import ROOT, base_environment
from bench.npbench.kernels import Kernel, kernels
from bench.report import Table
from bench.worker import in_words

Figures = dict[str, Any]

#: The parts of a run, each in a separate process.
PARTS = {"f": "forward", "g": "gradient", "n": "numba"}
COLUMNS = ("kernel", "NumPy", "jit", "Numba", "NumPy / jit", "Numba / jit", "gradient",
           "first call", "first gradient", "Numba's first call")  # fmt: skip


def options_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench npbench", description=__doc__)
    parser.add_argument("names", nargs="*", help="some of the kernels")
    parser.add_argument("--checkout", type=Path, required=True, help="a clone of spcl/npbench")
    parser.add_argument("--preset", default="S", help="NPBench's sizes: S, M, L, paper")
    parser.add_argument("--parts", default="fgn", help="forward, gradient, numba: some of fgn")
    parser.add_argument("--threads", type=int, default=machine.processors())
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for each part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the figures")
    parser.add_argument("--from-json", type=Path, metavar="FILE", help="print saved figures")
    options = parser.parse_args(argv)
    if not (options.checkout / "bench_info").is_dir():
        parser.error(
            f"{options.checkout} has no folder bench_info: clone it by\n"
            "    git clone https://github.com/spcl/npbench"
        )
    return options


def in_process(kernel: Kernel, part: str, options: argparse.Namespace) -> Figures:
    """The figures of one part from a fresh process, as far as it gets."""
    arguments = [str(options.checkout.resolve()), kernel.name, options.preset]
    command = [sys.executable, "-m", "bench.npbench.worker", *arguments]
    failure = ""
    try:
        done = subprocess.run(
            [*command, str(options.threads), part],
            env={**base_environment(options.threads), "AUTOJIT_CACHE_DIR": ""},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=options.timeout,
        )
        output = done.stdout
        if done.returncode:
            failure = in_words((done.stderr.strip().splitlines() or ["no word"])[-1])
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode()
        failure = f"not done after {options.timeout:.0f} s"
    found: Figures = {}
    for line in output.splitlines():
        if line.startswith("{"):
            found.update(json.loads(line))
    if failure:
        found.setdefault(PARTS[part], failure)
    return found


def measure(options: argparse.Namespace, console: Console) -> dict[str, Figures]:
    results: dict[str, Figures] = {}
    with console.status("kernels") as status:
        for kernel in kernels(options.checkout, options.names):
            found = results[kernel.name] = {"sizes": kernel.description["parameters"]
                                            .get(options.preset)}  # fmt: skip
            for part in options.parts:
                status.update(f"{kernel.name}, {PARTS[part]}")
                found.update(in_process(kernel, part, options))
            if options.json:
                options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


# -- saying it ---------------------------------------------------------------------------


def milliseconds(found: Figures, key: str) -> str:
    """A time in milliseconds to three digits.

    >>> milliseconds({"jit_s": 0.0123456}, "jit_s"), milliseconds({}, "jit_s")
    ('12.3', '–')
    """
    return f"{1e3 * found[key]:#.3g}".rstrip(".") if key in found else "–"


def over(found: Figures, above: str, below: str) -> str:
    return (
        f"{found[above] / found[below]:#.2g}".rstrip(".") if {above, below} <= set(found) else "–"
    )


def row(name: str, found: Figures) -> list[str]:
    counts = found.get("forward") == "right"
    timed = found if counts else {k: v for k, v in found.items() if k not in ("jit_s", "first_s")}
    derived = timed if found.get("gradient") == "right" else {}
    return [
        name,
        *(milliseconds(timed, key) for key in ("numpy_s", "jit_s", "numba_s")),
        over(timed, "numpy_s", "jit_s"),
        over(timed, "numba_s", "jit_s"),
        milliseconds(derived, "gradient_s"),
        *(milliseconds(timed, key) for key in ("first_s", "gradient_first_s", "numba_first_s")),
    ]


def table(results: dict[str, Figures], preset: str) -> Table:
    rows = [row(name, found) for name, found in results.items()]
    return Table(f"NPBench, preset {preset}, ms", COLUMNS, tuple(map(tuple, rows)))


def remarks(results: dict[str, Figures]) -> list[str]:
    """The counts, and the failures with their reasons."""
    lines = []
    for part in ("forward", "gradient"):
        outcomes = {name: found[part] for name, found in results.items() if part in found}
        outcomes = {name: o for name, o in outcomes.items() if o != "integers only"}
        right = sum(outcome == "right" for outcome in outcomes.values())
        lines.append(f"{part}: {right} of {len(outcomes)} right.")
        lines += [f"{name}, {part}: {o}" for name, o in outcomes.items() if o != "right"]
    lines += [f"{name}, Numba: {f['numba']}" for name, f in results.items() if "numba" in f]
    return lines


def main(argv: list[str]) -> None:
    options = options_of(argv)
    console = Console()
    if options.from_json:
        results = json.loads(options.from_json.read_text(encoding="utf-8"))
    else:
        results = measure(options, Console(stderr=True))
    console.print(f"{machine.today()}, {machine.description()}; threads: {options.threads}.")
    console.print(table(results, options.preset).markdown(), markup=False, soft_wrap=True)
    for line in remarks(results):
        console.print(f"- {line}", markup=False, highlight=False, soft_wrap=True)
