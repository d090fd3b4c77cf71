"""L-BFGS beside PyTorch's, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import jit, optim, value_and_grad
from autojit.errors import ConcreteValueError


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize(
    "settings",
    [
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 2, "lr": 3.0},
        {"lr": 0.01, "max_iter": 7, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 9, "max_eval": 6, "lr": 1e-3},
    ],
)
@pytest.mark.parametrize("start", [[-1.2, 1.0, 0.5, 2.0], [0.3, -40.0, 7.0, 1e-3]])
def test_steps(settings: dict[str, Any], start: list[float]) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    witness = torch.optim.LBFGS([x], **settings)

    def closure() -> Any:
        witness.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    opt = optim.lbfgs(**settings)
    params = {"a": np.array(start[:2]), "b": [np.array([start[2:]])]}

    def of_tree(p: Any) -> Any:
        return rosenbrock(np.concatenate([p["a"], p["b"][0][0]]))

    objective, state = jit(value_and_grad(of_tree)), opt.init(params)
    for _ in range(2):
        expected = float(witness.step(closure).detach())
        params, state, value = opt.step(objective, params, state)
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        found = [*params["a"], *params["b"][0][0]]
        np.testing.assert_allclose(found, x.detach().numpy(), rtol=1e-5, atol=1e-9)
    kept = witness.state[x]
    assert (state["n_iter"], state["func_evals"]) == (kept["n_iter"], kept["func_evals"])


def test_single_precision_and_the_end() -> None:
    opt = optim.lbfgs(line_search_fn="strong_wolfe", max_iter=50)
    x = np.array([3.0, -2.0], np.float32)
    objective = jit(value_and_grad(lambda x: np.sum((x - 1) ** 2)))
    x, state, _ = opt.step(objective, x, opt.init(x))
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, 1.0, rtol=1e-6)
    again, _, value = opt.step(objective, x, state)
    np.testing.assert_array_equal(again, x)
    assert value < 1e-10


def test_it_is_refused_in_compiled_code() -> None:
    opt = optim.lbfgs()
    with pytest.raises(
        ConcreteValueError, match="The control flow of lbfgs depends on values"
    ) as caught:
        jit(lambda x: opt.step(value_and_grad(np.sum), x, opt.init(np.ones(2)))[0])(np.ones(2))
    assert "opt.step(jit(value_and_grad(loss)), params, state)" in str(caught.value)


def test_settings_that_there_are_not() -> None:
    with pytest.raises(ValueError, match="line_search_fn='armijo' is not 'strong_wolfe' or None"):
        optim.lbfgs(line_search_fn="armijo")
    with pytest.raises(ValueError, match="parameters of one dtype"):
        optim.lbfgs().init([np.ones(1), np.ones(1, np.float32)])
