"""The harness of `bench/`: a table comes out, and a peer that is wrong or absent is named."""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import replace

import numpy as np
import pytest
import scipy.special

from bench import __main__ as command
from bench import derivatives, limits, peers, report
from bench.client import process_environment
from bench.derivatives import primal_of
from bench.measure import PeerResult, Ratio, WorkloadResult
from bench.workload import TOLERANCE, Limit, NotWritten, as_tuple, disagreement, not_written
from bench.workloads import all_workloads, loops, select

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


@pytest.mark.slow
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


@pytest.mark.slow
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


def moved(workload, inputs, *directions):
    """Return the primal at inputs moved along a sum of directions, one array per argument."""
    inputs = list(inputs)
    for direction in directions:
        for position, along in zip(workload.argnums, direction, strict=True):
            inputs[position] = inputs[position] + along
    function = primal_of(workload, workload.primal(np, scipy.special))
    return np.array(function(*inputs))


def first_difference(workload, inputs, direction):
    """Return the derivative along a direction, for each example if there are examples."""
    ahead, behind = [tuple(sign * 1e-6 * d for d in direction) for sign in (1.0, -1.0)]
    return (moved(workload, inputs, ahead) - moved(workload, inputs, behind)) / 2e-6


def second_difference(workload, inputs, one, other):
    total = 0.0
    for a, b in itertools.product((1e-4, -1e-4), repeat=2):
        steps = tuple(a * d for d in one), tuple(b * d for d in other)
        total += np.sign(a * b) * moved(workload, inputs, *steps)
    return total / 4e-8


def applied(workload, derivative, results, position, direction):
    """The product over the argument's own axes: after the example's and those of the results."""
    examples = int(workload.derivative.startswith("per_example"))
    if examples and position not in workload.mapped:
        direction = direction[None]
    axes = tuple(range(examples, examples + results))
    product = derivative * np.expand_dims(direction, axes)
    return np.sum(product, axis=tuple(range(examples + results, product.ndim)))


@pytest.mark.sampled(45)
@pytest.mark.parametrize("workload", all_workloads().values(), ids=lambda w: w.name)
def test_reference_is_the_derivative(workload):
    """Along one random direction, against central differences of the primal in float64."""
    inputs = tuple(a.astype(np.float64) if a.dtype.kind == "f" else a for a in workload.inputs())
    rng = np.random.default_rng(1)
    direction = tuple(rng.normal(size=inputs[position].shape) for position in workload.argnums)
    found = workload.reference(inputs)
    size = np.sqrt(sum(np.sum(d * d) for d in found))
    if workload.derivative in ("hessian", "hvp"):
        (derivative,) = found
        other = inputs[-1] if workload.derivative == "hvp" else rng.normal(size=direction[0].shape)
        product = derivative if workload.derivative == "hvp" else derivative @ other
        expected = second_difference(workload, inputs, direction, (other,))
        assert abs(np.vdot(direction[0], product) - expected) < 1e-4 * size
        return
    expected = first_difference(workload, inputs, direction)
    results = expected.ndim - workload.derivative.startswith("per_example")
    along = sum(
        applied(workload, derivative, results, position, d)
        for derivative, position, d in zip(found, workload.argnums, direction, strict=True)
    )
    assert along.shape == expected.shape
    assert np.max(np.abs(along - expected)) < 1e-5 * size


BY_HAND = [workload for workload in all_workloads().values() if "numba" in workload.versions]


@pytest.mark.slow
@pytest.mark.parametrize("workload", BY_HAND, ids=lambda w: w.name)
def test_derivative_by_hand_agrees_with_the_reference(workload):
    import numba

    inputs = workload.inputs()
    primal, derivative = workload.version("numba", numba)
    got = tuple(np.asarray(part) for part in as_tuple(derivative(*inputs)))
    assert disagreement(got, workload.reference(inputs), workload.dtype) is None
    expected = primal_of(workload, workload.primal(np, scipy.special))(*inputs)
    rtol = 10 * TOLERANCE[workload.dtype]
    atol = rtol * np.max(np.abs(expected))
    np.testing.assert_allclose(primal(*inputs), expected, rtol=rtol, atol=atol)


FOR_DACE = [workload for workload in all_workloads().values() if "dace" in workload.versions]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("workload", FOR_DACE, ids=lambda w: w.name)
def test_program_for_dace_is_the_primal(workload):
    """It is NumPy's Python too, and may write to its arguments."""
    inputs = workload.inputs()
    function, stages = workload.version("dace", None)
    assert set(stages) <= {"forward", "whole"}
    got = function(*(array.copy() for array in inputs))
    expected = workload.primal(np, scipy.special)(*inputs)
    np.testing.assert_allclose(got, expected, rtol=10 * TOLERANCE[workload.dtype])


def test_dace_has_npbench_and_nothing_else(monkeypatch):
    npbench = {w.name for w in all_workloads().values() if w.name.startswith("npb_")}
    assert {workload.name for workload in FOR_DACE} == npbench
    monkeypatch.setattr("bench.peers.dace.load", lambda: None)
    (workload,) = select(["rosenbrock_small"])
    with pytest.raises(NotWritten, match="it has no version of its own"):
        peers.load("dace").build(workload, workload.inputs(), 1)


def test_dace_builds_in_an_empty_folder(monkeypatch):
    monkeypatch.setenv("BENCH_PYTHON_DACE", "another/python")
    peer = peers.load("dace")
    environment = process_environment(peer, 3, "float64", "empty")
    assert peer.python == "another/python"
    assert environment["OMP_NUM_THREADS"] == "3"
    assert environment["DACE_default_build_folder"] == "empty/dace"
    assert environment["DACE_BUILD_CACHE_DIR"] == "empty"


@pytest.mark.slow
def test_gradients_by_dace(capsys):
    """With and without assignments to the inputs, by each of the stages."""
    if peers.load("dace").version().startswith("not installed"):
        pytest.skip("DaCe is neither here nor named by BENCH_PYTHON_DACE")
    chosen = ["npb_seidel_2d", "npb_gramschmidt", "npb_trisolv", "npb_lu"]
    command.main([*chosen, "--peers", "dace", "--rounds", "1", "--threads", "1"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in chosen)
    assert "dace, " not in printed, "a remark on what went wrong"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name",
    [
        "rosenbrock_small",
        "hessian_rosenbrock",
        "hvp_logistic",
        "per_example_mlp",
        "jacobian_hand",
        "jacobian_bundle",
    ],
)
def test_each_derivative_is_built(name):
    (workload,) = select([name])
    inputs = workload.inputs()
    compiled = peers.load("autojit").build(workload, inputs, 1)
    got = compiled.arrays(compiled.gradient())
    assert disagreement(got, workload.reference(inputs), workload.dtype) is None
    expected = primal_of(workload, workload.primal(np, scipy.special))(*inputs)
    atol = 1e-12 * np.max(np.abs(expected))
    np.testing.assert_allclose(compiled.primal(), expected, rtol=1e-12, atol=atol)


def test_derivative_that_a_library_lacks():
    (workload,) = select(["per_example_mlp"])
    with pytest.raises(NotWritten, match="no per_example from this library"):
        derivatives.build({}, None, workload, None)


def test_version_that_is_not_written():
    version = not_written("it has no loops")
    with pytest.raises(NotWritten, match="it has no loops"):
        version(np)


def test_scan_as_a_python_loop():
    scan = loops.scan_of(np)

    def step(total, x):
        total = total + x
        return total, (total, 2.0 * x)

    last, (totals, doubled) = scan(step, 0.0, np.array([1.0, 2.0, 3.0]))
    assert last == 6.0
    np.testing.assert_array_equal(totals, [1.0, 3.0, 6.0])
    np.testing.assert_array_equal(doubled, [2.0, 4.0, 6.0])
    assert scan(lambda n, _: (2 * n, None), 1, length=5) == (32, None)
    summed, products = scan(lambda n, ab: (n + ab[0], ab[0] * ab[1]), 0, (np.ones(2), np.arange(2)))
    assert summed == 2.0
    np.testing.assert_array_equal(products, [0.0, 1.0])


def test_waiting_limits_a_recurrence():
    machine = limits.Machine(1.0, 1.0, {"float64": 1e9}, step=1e-9)
    (workload,) = select(["lotka_volterra"])
    workload = replace(workload, limit=Limit(flops=1000, chain=5000))
    waiting, arithmetic = limits.bounds(workload, machine, 1)
    assert (waiting.what, waiting.seconds) == ("waiting", pytest.approx(5e-6))
    assert (arithmetic.what, arithmetic.seconds) == ("arithmetic", pytest.approx(1e-6))
