"""`python -m bench npbench --checkout PATH [KERNEL…]`: NPBench's NumPy kernels, as they are."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import machine, peers
from bench.client import ROOT, base_environment
from bench.npbench.kernels import Kernel, kernels
from bench.npbench.worker import NOT_COMPARED
from bench.report import NOTHING, Table, number
from bench.worker import in_words

Figures = dict[str, Any]

#: The parts of a run, each in a separate process.
PARTS = {"f": "forward", "g": "gradient", "n": "numba", "j": "jax", "d": "dace"}
#: The other libraries' names, and the keys of their figures.
OTHERS = {"NumPy": "numpy", "Numba": "numba", "JAX": "jax", "DaCe": "dace"}


def options_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench npbench", description=__doc__)
    parser.add_argument("names", nargs="*", help="some of the kernels")
    parser.add_argument("--checkout", type=Path, required=True, help="a clone of spcl/npbench")
    parser.add_argument("--preset", default="S", help="NPBench's sizes: S, M, L, paper")
    parser.add_argument("--parts", default="fgnjd", help=f"some of {PARTS}")
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


def environment(threads: int, folder: str) -> dict[str, str]:
    """No cache for autojit's code, and an empty folder for that of DaCe."""
    builds = {"DACE_default_build_folder": f"{folder}/dace", "DACE_BUILD_CACHE_DIR": folder}
    return {**base_environment(threads), "AUTOJIT_CACHE_DIR": "", **builds}


def in_process(kernel: Kernel, part: str, options: argparse.Namespace, results: Path) -> Figures:
    """The figures of one part from a fresh process, as far as it gets."""
    arguments = [str(options.checkout.resolve()), kernel.name, options.preset]
    arguments += [str(options.threads), part, str(results)]
    python = peers.load("dace").python if part == "d" else sys.executable
    command = [python, "-m", "bench.npbench.worker", *arguments]
    failure = ""
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                command,
                env=environment(options.threads, folder),
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
            with tempfile.TemporaryDirectory() as folder:
                for part in options.parts:
                    status.update(f"{kernel.name}, {PARTS[part]}")
                    found.update(in_process(kernel, part, options, Path(folder, "numpy.npz")))
            if options.json:
                options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


# -- saying it ---------------------------------------------------------------------------


def milliseconds(found: Figures, key: str) -> str:
    """A time in milliseconds to three digits.

    >>> milliseconds({"jit_s": 0.0123456}, "jit_s"), milliseconds({}, "jit_s")
    ('12.3', '–')
    """
    return number(1e3 * found[key]) if key in found else NOTHING


def fastest_other(found: Figures) -> str:
    """How many times as long the fastest other library takes as `jit`, and which one it is.

    >>> fastest_other({"jit_s": 1.0, "numba_s": 2.0, "jax_s": 3.0})
    '2.0 (Numba)'
    """
    times = {name: found[f"{k}_s"] for name, k in OTHERS.items() if f"{k}_s" in found}
    if "jit_s" not in found or not times:
        return NOTHING
    name = min(times, key=times.__getitem__)
    return f"{number(times[name] / found['jit_s'], 2)} ({name})"


def quotient(found: Figures, above: str, below: str) -> str:
    """How many times as long something takes as something else.

    >>> quotient({"jax_s": 3.0, "jit_s": 2.0}, "jax_s", "jit_s"), quotient({}, "jax_s", "jit_s")
    ('1.5', '–')
    """
    if not {above, below} <= set(found):
        return NOTHING
    return number(found[above] / found[below], 2)


def only_right(found: Figures) -> Figures:
    """The figures of those parts whose results are right, or are gradients that were not compared
    with differences in time."""
    wrong = {
        "forward": ("jit_s", "first_s"),
        "gradient": ("gradient_s", "gradient_first_s"),
        "jax": ("jax_s", "jax_first_s"),
        "dace": ("dace_s", "dace_first_s"),
    }
    dropped = {
        k
        for part, keys in wrong.items()
        if found.get(part) not in ("right", NOT_COMPARED)
        for k in keys
    }
    return {k: v for k, v in found.items() if k not in dropped}


def tables(results: dict[str, Figures], preset: str) -> list[Table]:
    right = {name: only_right(found) for name, found in results.items()}
    keys = ["numpy_s", "jit_s", "numba_s", "jax_s", "dace_s"]
    calls = [
        (name, *(milliseconds(found, k) for k in keys), fastest_other(found),
         quotient(found, "jax_s", "jit_s"),
         milliseconds(found, "gradient_s"), milliseconds(found, "jax_gradient_s"),
         quotient(found, "jax_gradient_s", "gradient_s"))
        for name, found in right.items()
    ]  # fmt: skip
    keys = ["first_s", "numba_first_s", "jax_first_s", "dace_first_s", "gradient_first_s",
            "jax_gradient_first_s"]  # fmt: skip
    firsts = [(name, *(number(found.get(k), 2) for k in keys)) for name, found in right.items()]
    columns = ("kernel", "NumPy", "jit", "Numba", "JAX", "DaCe", "fastest other / jit",
               "JAX / jit", "gradient", "JAX's", "JAX's / ours")  # fmt: skip
    first_columns = ("kernel", "jit", "Numba", "JAX", "DaCe", "gradient", "JAX's gradient")
    return [
        Table(f"NPBench, preset {preset}: calls, ms", columns, tuple(calls)),
        Table(f"NPBench, preset {preset}: first calls, s", first_columns, tuple(firsts)),
    ]


#: What is compared in geometric means: the titles and the keys above and below.
MEANS = {
    "NumPy / jit": ("numpy_s", "jit_s"),
    "Numba / jit": ("numba_s", "jit_s"),
    "JAX / jit": ("jax_s", "jit_s"),
    "DaCe / jit": ("dace_s", "jit_s"),
    "JAX's gradient / ours": ("jax_gradient_s", "gradient_s"),
    "JAX's first call / ours": ("jax_first_s", "first_s"),
    "Numba's first call / ours": ("numba_first_s", "first_s"),
    "JAX's first gradient / ours": ("jax_gradient_first_s", "gradient_first_s"),
}


def means(results: dict[str, Figures]) -> list[str]:
    """The geometric mean of each ratio over the kernels that have both times."""
    right = [only_right(found) for found in results.values()]
    lines = []
    for title, (above, below) in MEANS.items():
        ratios = [f[above] / f[below] for f in right if {above, below} <= set(f)]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            below_one = sum(r < 1 for r in ratios)
            lines.append(
                f"{title}: {number(mean, 2)} over {len(ratios)} kernels, below 1 in {below_one}."
            )
    return lines


def remarks(results: dict[str, Figures]) -> list[str]:
    """The counts, and the failures with their reasons."""
    lines = []
    for part in ("forward", "gradient"):
        outcomes = {name: found[part] for name, found in results.items() if part in found}
        outcomes = {name: o for name, o in outcomes.items() if o != "integers only"}
        right = sum(outcome == "right" for outcome in outcomes.values())
        lines.append(f"{part}: {right} of {len(outcomes)} right.")
        lines += [f"{name}, {part}: {o}" for name, o in outcomes.items() if o != "right"]
    for title, key in {"Numba": "numba", "JAX": "jax", "JAX's gradient": "jax_gradient",
                       "DaCe": "dace"}.items():  # fmt: skip
        failed = {name: f[key] for name, f in results.items() if key in f}
        lines += [f"{name}, {title}: {o}" for name, o in failed.items()
                  if o not in ("right", "done")]  # fmt: skip
    return lines


def main(argv: list[str]) -> None:
    options = options_of(argv)
    console = Console()
    if options.from_json:
        results = json.loads(options.from_json.read_text(encoding="utf-8"))
    else:
        results = measure(options, Console(stderr=True))
    console.print(f"{machine.today()}, {machine.description()}; threads: {options.threads}.")
    for table in tables(results, options.preset):
        console.print(table.markdown(), markup=False, soft_wrap=True)
    for line in means(results) + remarks(results):
        console.print(f"- {line}", markup=False, highlight=False, soft_wrap=True)
