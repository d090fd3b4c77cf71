"""`python -m bench beside`: pairs are compared and timed in turns, and every pair agrees."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

from bench.beside import command, loop_pairs, scipy_pairs
from bench.beside.closures import Network
from bench.beside.pairs import Pair, difference, timed


def test_a_wrong_result_stands_in_the_place_of_the_ratio() -> None:
    found = timed(Pair("f", lambda: 1.0, "peer", lambda: 2.0), rounds=1)
    assert found.wrong == "off by 0.5"
    assert command.row(found)[4] == "off by 0.5"
    assert difference([1.0], [1.0, 2.0], 1e-9) == "shapes (1,) and (2,)"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pair", scipy_pairs.solvers(), ids=lambda pair: pair.what)
def test_solvers_agree(pair: Pair) -> None:
    assert pair.tolerance is not None
    assert difference(pair.ours(), pair.theirs(), pair.tolerance) == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:np.dot:numba.core.errors.NumbaPerformanceWarning")
@pytest.mark.parametrize(
    "pair",
    [*scipy_pairs.elementwise(), *scipy_pairs.transforms(), *loop_pairs.pairs()],
    ids=lambda pair: pair.what,
)
def test_others_agree(pair: Pair) -> None:
    if pair.tolerance is not None:
        assert difference(pair.ours(), pair.theirs(), pair.tolerance) == ""


@pytest.mark.slow
def test_networks_agree() -> None:
    pytest.importorskip("torch")
    from bench.beside import network_pairs

    for pair in network_pairs.pairs():
        assert pair.tolerance is not None
        assert difference(pair.ours(), pair.theirs(), pair.tolerance) == ""


def test_the_closures_differentiate() -> None:
    network = Network(2, [3, 1])
    p, step = network.parameters()[0], 1e-6

    def value(shift: float) -> float:
        p.data += shift
        found = float(network([0.3, -0.2]).data)
        p.data -= shift
        return found

    network([0.3, -0.2]).backward()
    assert p.grad == pytest.approx((value(step) - value(-step)) / (2 * step), rel=1e-6)


def test_each_group_has_pairs() -> None:
    for module, _, packages in command.GROUPS.values():
        if all(map(find_spec, packages)):
            assert callable(import_module(f"bench.beside.{module}").pairs)


def test_unknown_groups_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.options_of(["sklearn"])
    assert "there are scipy, loops, networks" in capsys.readouterr().err
