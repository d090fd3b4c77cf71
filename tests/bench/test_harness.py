"""The harness of `bench/`: a table comes out, and a peer that is wrong or absent is named."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from bench import __main__ as command
from bench import report
from bench.measure import PeerResult, Ratio, WorkloadResult
from bench.workload import disagreement
from bench.workloads import all_workloads, select

WRONG_PEER = """
    from dataclasses import replace
    from bench.peers.numpy import PEER as NUMPY

    def build(workload, inputs, threads):
        right = NUMPY.build(workload, inputs, threads)
        return replace(right, gradient=lambda: 1.001 * right.gradient())

    PEER = replace(NUMPY, name="wrong_peer", title="deliberately wrong", build=build)
"""
ABSENT_PEER = """
    from dataclasses import replace
    from bench.peers.numpy import PEER as NUMPY

    def load():
        import a_library_that_nobody_wrote

    PEER = replace(NUMPY, name="absent_peer", title="not there", load=load)
"""
CRASHING_PEER = """
    import os
    from dataclasses import replace
    from bench.peers.numpy import PEER as NUMPY

    PEER = replace(NUMPY, name="crashing_peer", title="crashes", load=lambda: os._exit(7))
"""
LATE_PEER = """
    import time
    from dataclasses import replace
    from bench.peers.numpy import PEER as NUMPY

    PEER = replace(NUMPY, name="late_peer", title="sleeps", load=lambda: time.sleep(60))
"""


@pytest.fixture
def strange_peers(tmp_path, monkeypatch):
    package = tmp_path / "strange_peers"
    package.mkdir()
    (package / "__init__.py").touch()
    sources = {
        "wrong": WRONG_PEER,
        "absent": ABSENT_PEER,
        "crashing": CRASHING_PEER,
        "late": LATE_PEER,
    }
    for name, source in sources.items():
        (package / f"{name}.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_run_with_good_and_bad_peers(tmp_path, strange_peers, capsys):
    output = tmp_path / "RESULTS.md"
    chosen = "numpy,numba,strange_peers.wrong,strange_peers.absent,strange_peers.crashing"
    options = f"--peers {chosen} --rounds 2 --threads 1 --write --output {output}"
    command.main(["rosenbrock_small", *options.split()])
    printed = capsys.readouterr().out
    written = output.read_text(encoding="utf-8")
    for text in (printed, written):
        assert "rosenbrock_small" in text
        assert "strange_peers.wrong, WRONG, gradient 0 is off by 1.0e-03" in text
        assert "strange_peers.absent, absent: No module named 'a_library_that_nobody_wrote'" in text
        assert "strange_peers.crashing, crashed: exit status 7" in text
    row = next(line for line in written.splitlines() if line.startswith("| rosenbrock_small"))
    _, _, by_numpy, by_numba, wrong, absent, crashed, _ = map(str.strip, row.split("|"))
    assert float(by_numpy) > 0
    assert float(by_numba) > 0
    assert (wrong, absent, crashed) == ("WRONG", "absent", "crashed")


def test_late_peer_is_given_up(strange_peers, capsys):
    command.main(
        ["rosenbrock_small", "--peers", "strange_peers.late", "--rounds", "1", "--timeout", "1"]
    )
    assert "strange_peers.late, timed out: prepare took more than 1 s" in capsys.readouterr().out


def test_writing_a_section_keeps_the_others(tmp_path):
    path = tmp_path / "RESULTS.md"
    report.write_section(path, "Latency", "first")
    report.write_section(path, "Run time, 2 threads", "second")
    report.write_section(path, "Latency", "third")
    text = path.read_text(encoding="utf-8")
    assert text == "# Results\n\n## Latency\n\nthird\n\n## Run time, 2 threads\n\nsecond\n"


def test_ratio_against_a_wrong_peer_does_not_count():
    workload = select(["rosenbrock_small"])[0]
    result = WorkloadResult(
        workload,
        {"jax": PeerResult(gradient=[3.0, 4.0]), "autojit": PeerResult(gradient=[1.0, 2.0])},
    )
    assert result.ratio("jax", "autojit") == Ratio(3.5 / 1.5, 2.25, 2.75)
    result.peers["autojit"].wrong = "off"
    assert result.ratio("jax", "autojit") is None
    assert report.geometric_mean([result], "float64") == "float64: –"


@pytest.mark.parametrize(
    ("got", "words"),
    [
        ((np.array([1.0, 2.0 + 1e-14]),), None),
        ((np.array([1.0, 2.0 + 1e-6]),), "gradient 0 is off by 5.0e-07 of its largest entry"),
        ((np.array([1.0, np.nan]),), "gradient 0 is off by nan of its largest entry"),
        ((np.array([1.0, 2.0], np.float32),), "gradient 0 is float32, expected float64"),
        ((np.array([1.0]),), "gradient 0 has shape (1,), expected (2,)"),
        ((), "0 gradients, expected 1"),
    ],
)
def test_disagreement_in_words(got, words):
    assert disagreement(got, (np.array([1.0, 2.0]),), "float64") == words


@pytest.mark.parametrize("workload", all_workloads().values(), ids=lambda w: w.name)
def test_reference_gradient_is_the_derivative(workload):
    """One random direction: the hand-derived gradient against a central difference in float64."""
    import scipy.special

    inputs = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in workload.inputs()]
    function = workload.primal(np, scipy.special)
    rng = np.random.default_rng(1)
    directions = {
        position: rng.normal(size=inputs[position].shape) for position in workload.argnums
    }
    step = 1e-6

    def moved(sign):
        return function(
            *(
                a + sign * step * directions[position] if position in directions else a
                for position, a in enumerate(inputs)
            )
        )

    expected = (moved(+1) - moved(-1)) / (2 * step)
    gradients = workload.reference(tuple(inputs))
    along = sum(np.sum(g * d) for g, d in zip(gradients, directions.values(), strict=True))
    size = np.sqrt(sum(np.sum(g * g) for g in gradients))
    assert abs(along - expected) < 1e-5 * size
