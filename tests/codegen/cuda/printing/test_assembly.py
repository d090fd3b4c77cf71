"""Kernels assembled by ptxas, without a card: registers, spills, and 32-bit indices."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit import parse, trace
from autojit.codegen.cuda import stages
from autojit.codegen.cuda.device_program.nodes import DeviceKernel, Let
from autojit.codegen.cuda.driver import compiler
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.printing.kernels import function_text
from autojit.codegen.cuda.printing.words import Words
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core.program import Program
from bench.on_gpu import programs as on_gpu
from tests.codegen.cuda.driver.fake import Fake, installed
from tests.codegen.cuda.kernel_programs import PROGRAMS, like
from tests.codegen.cuda.printing import assembling
from tests.codegen.cuda.printing.assembling import CAPABILITIES, Assembled, Named
from tests.codegen.cuda.running import mapped
from tests.samples import SAMPLES, Sample

pytestmark = [
    pytest.mark.optimised,
    pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not on PATH (CUDA toolkit)"),
]


def kernels(name: str, dtype: str = "f8") -> Program:
    f, _, shapes = PROGRAMS[name]
    return trace(f)(*like(shapes, dtype))


def assembled(program: Program, capability: tuple[int, int], folder: Path) -> list[Assembled]:
    """The output of ptxas for each kernel of a program."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    source = print_device_source(mapped(program, Machine()), Machine())
    parts = re.split(r"^// (\w+)\n", stages.ptx(source, capability), flags=re.M)[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [assembling.assembled(*pair, capability, folder) for pair in pairs]


#: The kernels that were assembled already, by their keys.
_done: set[str] = set()


def assembled_everywhere(kernels: Iterable[Named], folder: Path) -> list[Assembled]:
    """What ptxas says of the kernels that are new, for each capability."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    found = []
    for named in kernels:
        if named.kernel.key not in _done:
            _done.add(named.kernel.key)
            found += assembling.everywhere(named, folder)
    return found


def check(found: list[Assembled]) -> None:
    assert found
    for kernel in found:
        assert kernel.is_good, kernel[:5]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["rows", "a loop until"])
def test_a_few_kernels(name: str, tmp_path: Path) -> None:
    check(assembled(kernels(name), (9, 0), tmp_path))


def test_indices_have_32_bits(tmp_path: Path) -> None:
    """Only addresses have 64 bits, and none is computed by a 64-bit division or product."""
    (kernel,) = assembled(kernels("a transpose"), (9, 0), tmp_path)
    assert not re.findall(r"\b(?:div|rem|mul\.lo|mul\.hi)\.[su]64\b", kernel.text)
    wide: Any = re.findall(r"\badd\.s64\b", kernel.text)
    loads = re.findall(r"\bld\.global", kernel.text)
    assert len(wide) <= 3 * len(loads)


def test_large_arrays_have_indices_of_64_bits(tmp_path: Path) -> None:
    x = np.broadcast_to(np.float32(1), (3 * 10**5, 10**4))
    found = assembled(trace(lambda x: x.T * 2)(x), (9, 0), tmp_path)
    check(found)
    text = print_device_source(mapped(trace(lambda x: x.T * 2)(x), Machine()), Machine()).text
    assert "np.int64(k + 1)" in text
    assert "np.uint64(300000 * " in text
    assert "int32" not in text


@pytest.mark.parametrize(("left", "bits"), [(5, 64), (1 << 20, 32)])
def test_threads_past_the_end_of_an_array_do_not_count_as_negative(left: int, bits: int) -> None:
    """The last block of a prefix sum counts beyond the end, here beyond 2**31."""
    x = np.broadcast_to(np.float32(1), ((1 << 31) - left,))
    device = mapped(trace(lambda x: np.cumsum(x))(x), Machine())
    for kernel in device.launches:
        if isinstance(kernel, DeviceKernel) and any(isinstance(s, Let) for s in walk(kernel.body)):
            text, _ = function_text(kernel, "k", Words(), {}, BufferNames())
            assert f"j = np.int{bits}(" in text


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_precision_converts_where_it_is_loaded_and_stored(kind: str, tmp_path: Path) -> None:
    found = assembled(
        parse(f"""program main(%0: {kind}[300,400], %1: f64[300,400]) {{
          %2: {kind}[300,400] = convert %1 {{dtype={kind}}}
          %3: {kind}[300,400] = mul %0, %2
          return %3
        }}"""),
        (9, 0),
        tmp_path,
    )
    check(found)
    (kernel,) = found
    assert ("cvt.f32.f16" in kernel.text) == (kind == "f16")
    assert "mul.f16" not in kernel.text


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("dtype", "word"), [("c8", "f32"), ("c16", "f64")])
def test_both_parts_of_complex_numbers_are_one_access(dtype: str, word: str) -> None:
    """Compiled as for a call: arguments are aligned to an element."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    with installed(Fake()):
        program = trace(lambda z: z * z + 1)(np.broadcast_to(np.zeros((), dtype), (640, 1000)))
        (kernel,) = compile_for_cuda(program).kernels()
    text = compiler.ptx(kernel, (9, 0))
    accesses = re.findall(r"\b(ld|st)\.global(?:\.nc)?(\S*)", text)
    assert {kind for kind, _ in accesses} == {"ld", "st"}
    assert {of for _, of in accesses} == {f".v2.{word}"}


@pytest.mark.parametrize(("dtype", "word"), [("f4", ".v4.f32"), ("f8", ".v2.f64")])
def test_neighbours_are_one_access_of_16_bytes(dtype: str, word: str) -> None:
    """If arguments begin at multiples of 16; otherwise elements are read one by one."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    with installed(Fake()):
        x = np.broadcast_to(np.array(1, dtype), (400_000,))
        (kernel,) = compile_for_cuda(trace(lambda x: x * 2)(x)).kernels()
    accesses = re.findall(r"\b(?:ld|st)\.global(?:\.nc)?(\S*)", compiler.ptx(kernel, (9, 0)))
    assert set(accesses) == {word}
    given, made = kernel.buffers
    kernel = kernel._replace(buffers=(given._replace(aligned=np.dtype(dtype).itemsize), made))
    loads = re.findall(r"\bld\.global(?:\.nc)?(\S*)", compiler.ptx(kernel, (9, 0)))
    assert set(loads) == {word[3:]}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_class_of_kernels(name: str, dtype: str, tmp_path: Path) -> None:
    """With `-s`, print registers."""
    every = assembling.every_kernel(kernels(name, dtype))
    assert every
    for kernel in assembled_everywhere(every, tmp_path):
        print(f"{name:<18}{dtype:<4}{kernel.name:<14}{kernel.registers:>4}{kernel.shared:>8}")
        check([kernel])


@pytest.mark.slow
@pytest.mark.parametrize("program", on_gpu.PROGRAMS, ids=lambda p: p.name)
def test_programs_that_are_timed(program: on_gpu.Program, tmp_path: Path) -> None:
    """In the sizes of a card; with `-s` it prints the registers."""
    every = assembling.timed(program)
    assert every
    for kernel in assembled_everywhere(every, tmp_path):
        print(f"{program.name:<26}{kernel.name:<14}{kernel.registers:>4}{kernel.shared:>8}")
        check([kernel])


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_kernels_of_samples(sample: Sample, tmp_path: Path) -> None:
    for kernel in assembled_everywhere(assembling.kernels_of(sample), tmp_path):
        check([kernel])


def test_results_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel is assembled once, also in later runs, and a bad one is reported."""
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
    monkeypatch.setattr(assembling, "SAMPLES", [s for s in SAMPLES if s.name == "absolute"])
    monkeypatch.setattr(assembling, "PROGRAMS", {"columns": PROGRAMS["columns"]})
    monkeypatch.setattr(on_gpu, "PROGRAMS", on_gpu.PROGRAMS[:1])
    made = []

    def everywhere(named: Named, folder: Path) -> list[Assembled]:
        made.append(named.kernel.key)
        spilled = 8 if len(made) == 1 else 0
        return [Assembled(named.name, 40, spilled, 0, 0, "") for _ in CAPABILITIES]

    monkeypatch.setattr(assembling, "everywhere", everywhere)
    assert assembling.main(tmp_path / "results") == 1
    assert assembling.main(tmp_path / "results") == 1
    assert len(made) == len(set(made)) > 0
    monkeypatch.setattr(assembling, "SAMPLES", [])
    monkeypatch.setattr(assembling, "PROGRAMS", {})
    monkeypatch.setattr(on_gpu, "PROGRAMS", [])
    assert assembling.main(tmp_path / "results") == 0
