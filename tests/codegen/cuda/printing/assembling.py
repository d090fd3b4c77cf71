"""Kernels assembled by ptxas, for every capability that the tests name.

    python -m tests.codegen.cuda.printing.assembling RESULTS [SECONDS]

assembles the kernels of all samples and of their gradients, of the programs of each kernel class,
and of the programs that are timed on a GPU. Each distinct kernel is assembled once. A line is added
to the file RESULTS for each kernel and each finished program or sample. It stops after that many
seconds (480); the next run continues. Once all are in the file, it prints a table of registers and
the kernels that break a limit; the exit status is 1 if there are any.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from autojit import trace
from autojit.codegen.cuda.driver import compiler
from autojit.codegen.cuda.driver.extraction import Extraction
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.packaged import kernel_of
from autojit.codegen.cuda.source import Launch, print_device_source
from autojit.ir.core.program import Program
from bench.on_gpu import programs as on_gpu
from bench.on_gpu.libraries import Autojit
from tests import samples
from tests.codegen.cuda.executor.test_samples import is_refused
from tests.codegen.cuda.kernel_programs import PROGRAMS, like
from tests.codegen.cuda.running import mapped
from tests.samples import SAMPLES, Sample
from tests.test_programs import programs

CAPABILITIES = [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)]
#: With more registers, fewer than 512 threads fit on a processor in blocks of 256. A single block
#: has a processor for itself, where 256 threads may have all registers of a thread.
MOST_REGISTERS, MOST_OF_ONE_BLOCK = 128, 255


class Assembled(NamedTuple):
    """What ptxas says of a kernel: registers per thread, bytes of spills and of arrays in local
    memory per thread, bytes of shared memory per block; and the PTX."""

    name: str
    registers: int
    spilled: int
    local: int
    shared: int
    text: str
    is_one_block: bool = False

    @property
    def is_good(self) -> bool:
        most = MOST_OF_ONE_BLOCK if self.is_one_block else MOST_REGISTERS
        return (
            self.spilled == 0
            and 0 < self.registers <= most
            and self.shared <= 48 << 10
        )  # fmt: skip


def assembled(name: str, text: str, capability: tuple[int, int], folder: Path) -> Assembled:
    """Assemble the PTX of a kernel."""
    text = re.sub(r"\.version [\d.]+", f".version {_newest(folder)}", text)
    said = _ptxas(text, capability, folder)
    assert "Used" in said, f"{name}: {said}"

    def number(pattern: str) -> int:
        found = re.search(pattern, said)
        return int(found[1]) if found else 0

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    registers, shared = number(r"Used (\d+) reg"), number(r"(\d+) bytes smem")
    return Assembled(name, registers, spilled, number(r"(\d+) bytes stack"), shared, text)


@cache
def _newest(folder: Path) -> str:
    """The newest version of PTX that ptxas takes; it may be older than NVVM's."""
    said = _ptxas(".version 99.0\n.target sm_75\n", CAPABILITIES[0], folder)
    found = re.search(r"Unsupported \.version .*current version is '([\d.]+)'", said)
    assert found, said
    return found[1]


def _ptxas(text: str, capability: tuple[int, int], folder: Path) -> str:
    file = folder / "kernel.ptx"
    file.write_text(text)
    architecture = f"-arch=sm_{capability[0]}{capability[1]}"
    command = ["ptxas", "-v", architecture, str(file), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


class Named(NamedTuple):
    """A kernel as calls launch it, the name of its launch, and whether that has a single block."""

    name: str
    kernel: compiler.Kernel
    is_one_block: bool


def every_kernel(program: Program) -> list[Named]:
    """The kernels of a program."""
    source = print_device_source(mapped(program, Machine()), Machine())
    extraction = Extraction(source.text)
    launches = [x for x in source.launches if isinstance(x, Launch)]
    return [Named(x.name, kernel_of(extraction, x), x.blocks == 1) for x in launches]


def everywhere(named: Named, folder: Path) -> list[Assembled]:
    """What ptxas says of a kernel for each capability.

    It is compiled once, for the oldest card, whose PTX is legal for the others too.
    """
    kernel = named.kernel
    text = compiler.ptx(kernel, CAPABILITIES[0])
    every = (assembled(kernel.key[:12], text, c, folder) for c in CAPABILITIES)
    return [a._replace(is_one_block=named.is_one_block) for a in every]


class Results:
    """The kernels and samples that were assembled, kept in a file of a line of JSON for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = [json.loads(s) for s in path.read_text().splitlines()] if path.exists() else []
        self.kernels: dict[str, dict[str, Any]] = {x["key"]: x for x in lines if "key" in x}
        self.samples = {x["sample"]: x["kernels"] for x in lines if "kernels" in x}

    def add(self, line: dict[str, Any]) -> None:
        """Add a kernel, which has a key, or a finished sample with the keys of its kernels."""
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if "key" in line:
            self.kernels[line["key"]] = line
        else:
            self.samples[line["sample"]] = line["kernels"]

    def of(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """The kernels of the named samples, each once."""
        keys = dict.fromkeys(key for name in names for key in self.samples.get(name, ()))
        return [self.kernels[key] for key in keys]


class Subject(NamedTuple):
    """A sample or a program whose kernels are assembled, and the row of the table it counts in."""

    name: str
    group: str
    kernels: Callable[[], Iterable[Named]]


def subjects() -> Iterator[Subject]:
    """All samples, the programs of each kernel class, and the programs that are timed."""
    for sample in SAMPLES:
        yield Subject(sample.name, "samples", partial(kernels_of, sample))
    for name in PROGRAMS:
        for dtype in ("f4", "f8"):
            made = partial(_class, name, dtype)
            yield Subject(f"{name}, {dtype}", "kernel classes", made)
    for program in on_gpu.PROGRAMS:
        yield Subject(f"{program.name}, timed", "timed programs", partial(timed, program))


def _class(name: str, dtype: str) -> list[Named]:
    f, _, shapes = PROGRAMS[name]
    return every_kernel(trace(f)(*like(shapes, dtype)))


def timed(program: on_gpu.Program) -> list[Named]:
    """The kernels of a program that is timed, in the sizes of a card."""
    made = trace(Autojit("cpu").function(program))(*program.arguments(is_small=False))
    return every_kernel(made)


def assemble(results: Results, seconds: float) -> bool:
    """Assemble the subjects that are not in the results, and return whether all were."""
    until = time.monotonic() + seconds
    left = [s for s in subjects() if s.name not in results.samples]
    with tempfile.TemporaryDirectory() as folder:
        for subject in sorted(left, key=lambda s: hashlib.sha256(s.name.encode()).digest()):
            if time.monotonic() > until:
                return False
            every = {named.kernel.key[:12]: named for named in subject.kernels()}
            for key in every.keys() - results.kernels.keys():
                if time.monotonic() > until:
                    return False
                results.add(_line(every[key], subject.name, Path(folder)))
            results.add({"sample": subject.name, "kernels": [*every]})
    return True


def kernels_of(sample: Sample) -> Iterator[Named]:
    """The kernels of a sample and of its gradient; those of refused programs are left out."""
    for program in programs(sample):
        if not is_refused(program, Machine()):
            yield from every_kernel(program)


def _line(named: Named, sample: str, folder: Path) -> dict[str, Any]:
    found = everywhere(named, folder)
    kind = re.sub(r"_?\d+", "", named.name)
    each = [[a.registers, a.spilled, a.local, a.shared] for a in found]
    bad = not all(a.is_good for a in found)
    return {"key": named.kernel.key[:12], "sample": sample, "kind": kind, "each": each, "bad": bad}


def _groups() -> Iterator[tuple[str, set[str]]]:
    """The lists of samples by name, then all samples and the other groups of subjects."""
    for name, rows in vars(samples).items():
        if name.isupper() and rows is not SAMPLES:
            yield name.lower(), {s.name for s in rows}
    names: dict[str, set[str]] = {}
    for subject in subjects():
        names.setdefault(subject.group, set()).add(subject.name)
    yield from ((f"all {group}", found) for group, found in names.items())
    yield "all", set().union(*names.values())


def table(results: Results) -> Iterator[str]:
    """The rows of a table in Markdown: for each group of samples, the kernels, and the median and
    largest number of registers for each capability."""
    heads = [f"{major}.{minor}" for major, minor in CAPABILITIES]
    yield "| samples | kernels | " + " | ".join(heads) + " | in local memory |"
    yield "|---|--:|" + "--:|" * (len(CAPABILITIES) + 1)
    for group, names in _groups():
        if found := results.of(names):
            yield f"| {group} | {len(found)} | {_registers(found)} | {_local(found)} |"


def _registers(found: Iterable[dict[str, Any]]) -> str:
    columns = zip(*([each[0] for each in k["each"]] for k in found), strict=True)
    return " | ".join(f"{median(column):.0f}, {max(column)}" for column in columns)


def _local(found: Iterable[dict[str, Any]]) -> str:
    return str(sum(any(each[2] for each in k["each"]) for k in found))


def main(path: Path, seconds: float = 480.0) -> int:
    """Assemble what is left, and print the table if nothing is; the exit status."""
    results = Results(path)
    names = [s.name for s in subjects()]
    if not assemble(results, seconds):
        print(f"{len(results.samples)} of {len(names)}, {len(results.kernels)} kernels")
        return 0
    print("\n".join(table(results)))
    bad = [k for k in results.of(names) if k["bad"]]
    for kernel in bad:
        print(f"{kernel['sample']}: {kernel['kind']}: {kernel['each']}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(float, sys.argv[2:])))
