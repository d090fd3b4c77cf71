"""Kernels as a card loads them: PTX that takes bare addresses, compiled once, stored on disk."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit import device_put, jit
from autojit.codegen.cuda.driver import assembly, cards, compiler, nvvm
from autojit.codegen.cuda.driver.compiler import ENTRY, Count, Kernel, Parameter
from autojit.codegen.cuda.driver.extraction import Extraction
from autojit.codegen.cuda.driver.library import write
from autojit.codegen.cuda.translation.module import HEADER
from autojit.codegen.driver.cache import Cache
from autojit.codegen.driver.kernels import KernelCache
from autojit.codegen.loop_ir.errors import TargetError
from tests.codegen.cuda.driver.fake import Fake, installed

pytestmark = pytest.mark.optimised

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')

MODULE = """
import math

import numpy as np
from numba import cuda

THREADS = 4
UNUSED = 5


@cuda.jit(device=True)
def twice(x):
    return x + x


@cuda.jit(device=True)
def fourfold(x):
    return twice(twice(x))


@cuda.jit
def k0(in0, out0):
    out0[cuda.threadIdx.x % THREADS] = fourfold(in0[0])


@cuda.jit
def k1(t0, out1):
    out1[cuda.threadIdx.x % THREADS] = fourfold(t0[0])


@cuda.jit
def k2(in0, out0):
    out0[0] = in0[0]


@cuda.jit
def k3(in0, out0):
    n = np.int32(cuda.threadIdx.x)
    while n < np.int32(1000000):
        out0[np.uint32(n)] = out0[np.uint32(n)] + in0[np.uint32(n)]
        n = np.int32(n + 128)


@cuda.jit
def k4(in0, out0):
    n = np.int32(cuda.threadIdx.x)
    while n < np.int32(1000000):
        out0[np.uint32(n)] = in0[np.uint32(n)]
        n = np.int32(n + 128)


@cuda.jit
def k5(in0, out0):
    i = np.int32(0)
    while i < 200:
        j = np.int32(0)
        while j < 300:
            k = np.int32(0)
            while k < 3:
                s0 = in0[np.uint32(-900 * i - 3 * j + k + 179997)]
                out0[np.uint32(k)] = out0[np.uint32(k)] * s0
                k = np.int32(k + 1)
            j = np.int32(j + 1)
        i = np.int32(i + 1)
"""
F64 = Parameter("float64", 4)


def kernel(name: str, *buffers: Parameter) -> Kernel:
    found = Extraction(MODULE)
    return Kernel(found.module(name), buffers, tuple(found.parameters(name)))


def test_a_kernel_takes_what_it_uses_and_no_more() -> None:
    text = kernel("k0").text
    assert all(word in text for word in ("def twice", "def fourfold", "THREADS = 4", "def kernel("))
    assert not any(word in text for word in ("UNUSED", "import math", "np", "k1", "k2"))
    assert "twice" not in kernel("k2").text


def test_kernels_are_equal_whatever_they_and_their_buffers_are_called() -> None:
    assert kernel("k0", F64, F64).key == kernel("k1", F64, F64).key
    others = [kernel("k0", F64, F64._replace(size=5)), kernel("k2", F64, F64),
              kernel("k0", F64._replace(by_value=True), F64)]  # fmt: skip
    assert len({k.key for k in (kernel("k0", F64, F64), *others)}) == 4


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int64", "uint16", "bool"])
def test_parameters_are_bare_addresses_and_numbers(dtype: str) -> None:
    wide, one = Parameter(dtype, 4), Parameter(dtype, 1, by_value=True)
    text = compiler.ptx(kernel("k2", one, wide), (9, 0))
    (parameters,) = re.findall(rf"\.visible \.entry {ENTRY}\((.*?)\)", text, re.DOTALL)
    kinds = re.findall(r"\.param \.(\w+)", parameters)
    assert len(kinds) == 2
    assert kinds[1] == "u64"
    assert not re.search(r"\bcall\b|\.local", text.split("{", 1)[1])
    assert ".target sm_90" in text


def test_what_is_only_read_is_read_ahead_and_past_the_caches_that_are_kept_equal() -> None:
    many = Parameter("float64", 1_000_000)

    def steps(name: str) -> str:
        text = compiler.ptx(kernel(name, many, many), (9, 0))
        words = re.findall(r"\b(ld\.global\.nc|ld\.global|st\.global)\.", text)
        return "".join({"ld.global.nc": "n", "ld.global": "l", "st.global": "s"}[w] for w in words)

    assert steps("k4") == "ns" * 5  # one step, then four at a time, which `ptxas` may reorder
    assert "n" in steps("k3")
    assert steps("k3").count("l") == steps("k3").count("s") > 1  # not read as constants


def test_negative_parts_of_an_index_are_extended_with_their_sign() -> None:
    """NVVM may extend a part of an index, here ``x + 2``, and add the rest to the address."""
    text = compiler.ptx(
        kernel("k5", Parameter("float64", 180_000), Parameter("float64", 3)), (9, 0)
    )
    assert "mul.wide.s32" in text
    assert not re.search(r"mul\.wide\.u32|cvt\.u64\.u32", text)


EXCHANGE = """
import numpy as np
from numba import cuda


@cuda.jit
def kernel(x, y):
    before = y[np.uint32(0)]
    if cuda.threadIdx.x < 1:
        y[np.uint32(0)] = x[np.uint32(5)]
    cuda.syncthreads()
    y[np.uint32(cuda.threadIdx.x + 1)] = before + y[np.uint32(0)]
"""


def test_what_threads_exchange_is_read_anew_behind_a_barrier() -> None:
    """All threads but the first have stored nothing, so LLVM would reuse their earlier reads."""
    x, y = Parameter("float64", 100), Parameter("float64", 100, exchanged=True)
    behind = []
    for buffers in ((x, y), (x, y._replace(exchanged=False))):
        text = compiler.ptx(Kernel(EXCHANGE, buffers, ("x", "y")), (9, 0))
        behind.append("ld.global" in text.partition("bar.sync")[2])
    assert behind == [True, False]


@pytest.mark.parametrize(
    ("f", "exchanged"),
    [
        (np.linalg.slogdet, True),  # one block, in which rows are swapped
        (np.linalg.qr, True),
        (lambda x: x / np.sum(x, axis=1, keepdims=True), True),
        (lambda x: x * 2, False),
    ],
)
def test_kernels_with_barriers_say_what_they_exchange(f: Any, exchanged: bool) -> None:
    with installed(Fake()) as fake:
        jit(f, device="cuda")(np.eye(64))
        kernels = [launched.kernel for launched in fake.launches]
    every = [b.exchanged for kernel in kernels for b in kernel.buffers]
    assert any(every) == exchanged
    assert not all(every)


def test_kernels_come_from_disk(tmp_path: Path) -> None:
    kept = KernelCache(Cache(tmp_path))
    wanted = kernel("k2", F64, F64)
    compiler._images.clear()
    compiled = Count.compiled
    first = compiler.image(wanted, (8, 0), kept)
    assert compiler.image(wanted, (8, 0), kept) is first
    compiler._images.clear()
    loaded = Count.loaded
    assert compiler.image(wanted, (8, 0), kept) == first
    assert (Count.compiled, Count.loaded) == (compiled + 1, loaded + 1)
    compiler.image(wanted, (9, 0), kept)  # another capability
    assert Count.compiled == compiled + 2
    (about,) = {str(entry.about["types"]) for entry in kept.entries.entries()}
    assert about == "float64[4], float64[4]"


def test_drivers_of_this_release_get_machine_code(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvJitLink is not installed")
    kept, wanted = KernelCache(Cache(tmp_path)), kernel("k2", F64, F64)
    compiler._images.clear()
    made = compiler.image(wanted, (9, 0), kept, 99000)
    assert made[:4] == b"\x7fELF"
    assert ENTRY.encode() in made
    compiler._images.clear()
    compiled = Count.compiled
    assert compiler.image(wanted, (9, 0), kept, 99000) == made
    assert Count.compiled == compiled
    # An older driver accepts only PTX, and machine code must fit the card.
    assert compiler.image(wanted, (9, 0), kept, 12040)[:4] != b"\x7fELF"
    assert b".target sm_" in compiler.image(wanted, (98, 0), kept, 99000)


def test_ptx_says_no_newer_version_than_the_driver_knows() -> None:
    text = compiler.ptx(kernel("k2", F64, F64), (9, 0))
    for driver, version in ((12000, "8.0"), (12060, "8.5"), (12080, "8.7"), (13000, "9.0")):
        made = assembly.lowered(text, driver)
        assert f"\n.version {version}\n" in made
        assert made.replace(f".version {version}", "") == re.sub(r"\.version [\d.]+", "", text)
    assert assembly.lowered(text, 99000) == text


def test_what_cannot_be_made_is_said() -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvJitLink is not installed")
    text = compiler.ptx(kernel("k2", F64, F64), (9, 0))
    with pytest.raises(TargetError, match=r"compute capability 9\.0:\n.*(?i:syntax|parse|unknown)"):
        assembly.assembled(text.replace("ld.global", "ld.globule"), (9, 0))
    with pytest.raises(TargetError, match=r"makes no code for this GPU.*\n    pip install"):
        compiler.ptx(kernel("k2", F64, F64), (3, 0))


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import cuda.bindings

    monkeypatch.setitem(sys.modules, "cuda.bindings.nvvm", None)
    monkeypatch.delattr(cuda.bindings, "nvvm", raising=False)
    nvvm._nvvm.cache_clear()
    with pytest.raises(TargetError, match=r"NVVM, which is not found.*\n    pip install"):
        compiler.ptx(kernel("k2", F64, F64), (9, 0))
    nvvm._nvvm.cache_clear()


def test_code_that_nvvm_refuses_is_shown() -> None:
    with pytest.raises(TargetError, match=r"NVVM refuses the code of a kernel:\n.*type"):
        nvvm.compiled(lambda _: f"{HEADER}define void @f() {{\n  ret i32 %x\n}}\n", (9, 0))


class Loading(Fake):
    """Accepts PTX, as the driver does, and keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def image(self, kernel: Kernel, capability: Any, kept: Any) -> tuple[bytes, bytes]:
        super().image(kernel, capability, kept)
        return cards.image_for(12040)(kernel, capability, kept)

    def cuModuleLoadData(self, to: int, code: int) -> None:
        self.texts.append(ctypes.string_at(code).decode())
        module = next(self._serial)
        self._loaded[module] = list(self._known.values())[-1]
        write(to, module)


def test_what_is_loaded_is_the_ptx_of_the_kernels_for_the_card() -> None:
    with installed(Loading()) as fake:
        jit(lambda x: np.tanh(x) + 1)(device_put(np.ones(10)))
        (text,) = fake.texts
        assert f".visible .entry {ENTRY}(" in text
        assert ".target sm_80" in text  # as the fake driver reports
        assert ".version 8.4" in text  # the newest that a driver of CUDA 12.4 takes
        assert fake.counts["cuLaunchKernel"] == 1
