"""Properties of the PTX of every class of kernels, in single precision, without a card."""

from __future__ import annotations

import re

import pytest

from autojit.codegen.cuda import stages
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.source import print_device_source
from tests.codegen.cuda.kernel_programs import PROGRAMS
from tests.codegen.cuda.printing.test_assembly import kernels
from tests.codegen.cuda.running import mapped

pytestmark = pytest.mark.optimised

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')

#: Code that uses double precision on purpose: totals of long sums of float32, and sums in any
#: order; libdevice's reduction of large arguments of sines, with a table in local memory; roots of
#: one.
_DOUBLE = (
    "added", "columns", "one number", "branches", "transforms", "steps", "steps of one",
    "steps of each",
)  # fmt: skip
_WRITES = re.compile(r"^(?:@\S+\s+)?(?:st|atom|red)\.(?:global|relaxed)\S*\s[^\[]*\[(%rd\d+)")
_READS = re.compile(r"^(?:@\S+\s+)?ld\.global\.nc\S*\s[^\[]*\[(%rd\d+)")


def places(text: str) -> tuple[set[str], set[str]]:
    """The parameters and libdevice tables whose memory is read as constant, and the parameters
    whose memory is written."""
    of: dict[str, set[str]] = {}
    lines = [line.strip() for line in text.splitlines()]
    for _ in range(3):  # loops carry addresses backwards
        for line in lines:
            given = re.match(r"(?:ld\.param|mov)\.u64\s+(%rd\d+), \[?([a-zA-Z_]\w*)\]?", line)
            if given:
                of.setdefault(given[1], set()).add(given[2])
                continue
            made = re.match(r"(?:@\S+\s+)?(?!ld)\S+\s+(%rd\d+), (.*);", line)
            if made:
                for source in re.findall(r"%rd\d+", made[2]):
                    of.setdefault(made[1], set()).update(of.get(source, ()))
    read, written = set[str](), set[str]()
    for line in lines:
        for pattern, found in ((_READS, read), (_WRITES, written)):
            matched = pattern.match(line)
            if matched:
                assert of.get(matched[1]), f"whose address is it? {line}"
                found |= of[matched[1]]
    return read, written


@pytest.mark.sampled(36)
@pytest.mark.parametrize("name", PROGRAMS)
def test_text_of_kernels(name: str) -> None:
    source = print_device_source(mapped(kernels(name, "f4"), Machine()), Machine())
    parts = re.split(r"^// (\w+)\n", stages.ptx(source, (9, 0)), flags=re.M)[1:]
    for kernel, text in zip(parts[::2], parts[1::2], strict=True):
        read, written = places(text)
        assert written, kernel
        assert not read & written, f"{kernel} writes what it reads as constant"
        if name not in _DOUBLE:
            numbers = r"\b(?:add|sub|mul|fma\.rn|div\.rn)\.f64\b"
            assert not re.findall(numbers, text), f"{kernel} computes in double precision"
            assert not re.findall(r"\b(?:ld|st)\.local", text), f"{kernel} has local memory"
        # All atomic operations have device scope, since blocks share the memory.
        assert not re.findall(r"\b(?:atom|red)\S*\.(?:cta|sys)\b", text), kernel


def test_a_write_to_what_is_constant_is_found() -> None:
    text = """
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        add.s64 %rd3, %rd2, 16;
        ld.global.nc.f32 %f1, [%rd3];
        st.global.f32 [%rd2+4], %f1;
    """
    assert places(text) == ({"k_param_0"}, {"k_param_0"})
