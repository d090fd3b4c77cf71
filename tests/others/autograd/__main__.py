"""``python -m tests.others.autograd``: see the package's docstring."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.others.autograd.known import EXAMPLES, TESTS

ROOT = Path(__file__).resolve().parents[3]
#: Modules that the examples share.
SHARED = {"__init__.py", "data.py", "data_mnist.py"}
#: Counts of iterations in the examples, with what they become.
SHORTER = (
    (r"(num_iters|num_epochs|simulation_timesteps)( ?= ?)\d+", r"\g<1>\g<2>3"),
    (r"(\"maxiter\": )\d+", r"\g<1>2"),
    (r"(method=\"[\w-]+\",\s*)(callback)", r"\g<1>options={'maxiter': 2}, \g<2>"),
    (r"max_lines=\d+", "max_lines=4"),
    (r"atol=1e-3, rtol=1e-3", "atol=0.1, rtol=0.1"),
    (r"range\((100|1000)\)", "range(4)"),
)


def worker(checkout: Path, folder: Path, what: str, seconds: float) -> tuple[int, str]:
    """Return the exit status of a run, and its output."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.others.autograd.worker"]
    try:
        done = subprocess.run(
            [*command, str(checkout), str(folder), what], cwd=ROOT, timeout=seconds, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, f"not done after {seconds:.0f} s"
    return done.returncode, done.stdout


def run_tests(checkout: Path, temporary: Path, seconds: float) -> list[str]:
    """Return descriptions of the differences between autograd's tests and `known`."""
    folder = temporary / "tests"
    shutil.copytree(checkout / "tests", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    _, output = worker(checkout, folder, "tests", seconds)
    lines = output.strip().splitlines()
    print(lines[-1] if lines else "no output")
    if not re.search(r"\d+ passed", lines[-1] if lines else ""):
        return [output]
    failed = {}
    for line in lines:
        if match := re.match(r"(?:FAILED|ERROR) \S*?(test_\w+\.py::[^ ]+)(.*)", line):
            failed[match[1]] = match[2].strip(" -")
    return _compared(failed, set(TESTS))


def run_examples(checkout: Path, temporary: Path, names: list[str], seconds: float) -> list[str]:
    """The same of their examples."""
    folder = temporary / "examples"
    shutil.copytree(checkout / "examples", folder)
    failed = {}
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for pattern, shorter in SHORTER:
            source = re.sub(pattern, shorter, source)
        path.write_text(source, encoding="utf-8")
    found = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*.py"))}
    chosen = [n for n in found if n not in SHARED and (not names or Path(n).stem in names)]
    for name in chosen:
        status, output = worker(checkout, folder, name, seconds)
        lines = output.strip().splitlines()
        if status:
            failed[name] = lines[-1] if lines else f"status {status}"
        print(f"{name}: {'failed' if status else 'runs'}", flush=True)
    return _compared(failed, set(EXAMPLES) & set(chosen))


def _compared(failed: dict[str, str], known: set[str]) -> list[str]:
    """Return the differences between the results and the known failures."""
    remarks = [f"{name} fails: {failed[name]}" for name in sorted(set(failed) - known)]
    return remarks + [f"{name} passes, and known.py lists it" for name in known - set(failed)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.others.autograd", description=__doc__)
    parser.add_argument("names", nargs="*", help="some of the examples, or `tests` (all of both)")
    parser.add_argument("--checkout", type=Path, required=True, help="a clone of HIPS/autograd")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each run")
    given = parser.parse_args()
    checkout = given.checkout.resolve()
    if not (checkout / "autograd" / "core.py").is_file():
        parser.error(
            f"{checkout} has no autograd/core.py: clone it by\n"
            "    git clone https://github.com/HIPS/autograd"
        )
    remarks: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name)
        if not given.names or "tests" in given.names:
            remarks += run_tests(checkout, temporary, given.timeout)
        if given.names != ["tests"]:
            names = [name for name in given.names if name != "tests"]
            remarks += run_examples(checkout, temporary, names, given.timeout)
    for remark in remarks:
        print(remark)
    return 1 if remarks else 0


if __name__ == "__main__":
    sys.exit(main())
