"""Every sample, with its derivatives, run by the executor and compared with the interpreter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autojit.codegen.cuda.libraries import cost
from autojit.codegen.cuda.libraries.prototypes import PROTOTYPES
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.printing.special import TEXTS
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Program
from autojit.ir.linalg.spectral import Eig
from autojit.ir.passes import optimize
from autojit.ir.special.external import External
from tests.codegen.cuda.running import SMALL, check, mapped
from tests.samples import SAMPLES, Sample
from tests.samples.fft import FOURIER
from tests.samples.linalg import COMPLEX_FACTORS, FACTORS
from tests.test_programs import programs

#: The most samples with a refused program; all others run.
MOST_REFUSED = 24


def is_refused(program: Program, machine: Machine = SMALL) -> bool:
    """Whether it contains `eig` without libraries, or SciPy functions that we have no text for."""
    kinds = [op.kind for op in optimize(program).ops]
    of_scipy = any(isinstance(k, External) and k.function not in TEXTS for k in kinds)
    return of_scipy or (not machine.libraries and any(isinstance(k, Eig) for k in kinds))


def run(sample: Sample, machine: Machine) -> bool:
    """Whether all programs of a sample ran; the others must be refused because of their op."""
    every = True
    for program in programs(sample):
        if is_refused(program, machine):
            every = False
            with pytest.raises(TargetError, match="cannot be compiled for CUDA"):
                print_device_source(mapped(program, machine), machine)
        else:
            device = check(program, sample.draw(), machine)
            assert print_device_source(device, machine).text
    return every


@pytest.mark.sampled(20)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_samples_on_a_small_card(sample: Sample) -> None:
    run(sample, SMALL)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sample", SAMPLES[1::8], ids=lambda s: s.name)
def test_samples_on_a_large_card(sample: Sample) -> None:
    run(sample, Machine())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sample", [*COMPLEX_FACTORS, *FACTORS, *FOURIER], ids=lambda s: s.name)
def test_samples_by_libraries(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost.Seconds, "prefers_library", True)
    run(sample, replace(SMALL, libraries=frozenset(PROTOTYPES)))


@pytest.mark.slow
def test_few_samples_are_refused() -> None:
    refused = [s.name for s in SAMPLES if any(map(is_refused, programs(s)))]
    assert len(refused) <= MOST_REFUSED, refused
