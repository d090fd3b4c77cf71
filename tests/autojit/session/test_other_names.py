"""Names of other libraries: what to write here, which runs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import autojit
from autojit.session.other_names import IN_MODULE, OF_FUNCTION


def loss(x: np.ndarray) -> float:
    return np.sum(x**2)


SPACE = {"np": np, "autojit": autojit, "x": np.ones(3), "v": np.ones(3), "n": 2}


def run(message: str, f: object) -> None:
    exec(message.partition("\n    ")[2], {**SPACE, "f": f})


@pytest.mark.parametrize("name", IN_MODULE)
def test_names_of_the_module(name: str) -> None:
    assert not hasattr(autojit, name)
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'\. \w") as caught:
        getattr(autojit, name)
    if "optree" in str(caught.value):
        pytest.importorskip("optree")
    f = np.sin if "vmap" in str(caught.value) and "hvp" not in str(caught.value) else loss
    run(str(caught.value), f)


@pytest.mark.parametrize("name", OF_FUNCTION)
def test_attributes_of_functions(name: str) -> None:
    f = autojit.jit(loss)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'. It is ") as caught:
        getattr(f, name)
    run(str(caught.value), f)


def test_other_names_are_near_ones_or_nothing() -> None:
    with pytest.raises(AttributeError, match=r"Did you mean jacrev\?"):
        _ = autojit.jacrevs
    with pytest.raises(AttributeError, match=r"has no attribute '_x'$"):
        _ = autojit.jit(loss)._x
    with pytest.raises(AttributeError, match=r"autojit.jit\(autojit.grad\(f\)\).explain\(x\)"):
        _ = autojit.grad(loss).explain  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(autojit.grad(loss)))(np.ones(2)).tolist() == [2.0, 2.0]
