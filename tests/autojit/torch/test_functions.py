"""Functions of tensors against PyTorch's: values, dtypes, and first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import torch

from .samples import IN_PLACE, ROWS

pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")

_rng = np.random.default_rng(0)
_S = _rng.standard_normal((4, 4))
INDEX = np.array([[0, 2, 1, 0], [1, 1, 0, 2], [2, 0, 0, 1]])
OPERANDS = {
    "X": _rng.standard_normal((3, 4)), "P": _rng.uniform(0.2, 0.9, (3, 4)), "S": _S,
    "V": _rng.standard_normal(4), "B": _rng.standard_normal((2, 3, 4)),
    "SPD": _S @ _S.T + 4 * np.eye(4), "V3": _rng.standard_normal(3),
    "Q": _rng.standard_normal((4, 5)), "Q3": _rng.standard_normal((4, 3)),
    "Q245": _rng.standard_normal((2, 4, 5)), "Q24": _rng.standard_normal((2, 4)),
    "Q32": _rng.standard_normal((3, 2)), "Q233": _rng.standard_normal((2, 3, 3)),
    "Q35": _rng.standard_normal((3, 5)), "Q22": _rng.standard_normal((2, 2)),
    "Q42": _rng.standard_normal((4, 2)),
}  # fmt: skip


def leaves(t: Any, names: str) -> list[Any]:
    return [t.tensor(OPERANDS[name], requires_grad=True) for name in names.split()]


def numbers(x: Any) -> Any:
    return x.detach().numpy(force=True)


def evaluated(t: Any, expression: str, operands: list[Any]) -> Any:
    scope = {"t": t, "I": INDEX, **dict(zip("xyz", operands, strict=False))}
    return eval(expression, scope)  # an expression of the table


def agree(ours: list[Any], theirs: list[Any], tolerance: float) -> None:
    """Gradients are the same; None is as good as zeros."""
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:
            rest = a if a is not None else b
            assert rest is None or not numbers(rest).any()
        else:
            np.testing.assert_allclose(numbers(a), numbers(b), tolerance, tolerance)


def compare(a: list[Any], b: list[Any], ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(numbers(ours), numbers(theirs), 1e-8, 1e-10)
    assert ours.requires_grad == theirs.requires_grad
    if not theirs.requires_grad:
        return
    seed = np.random.default_rng(1).standard_normal(tuple(theirs.shape))
    settings = {"create_graph": True, "allow_unused": True}
    first = torch.autograd.grad(ours, a, torch.tensor(seed), **settings)
    wanted = pytorch.autograd.grad(theirs, b, pytorch.tensor(seed), **settings)
    agree(first, wanted, 1e-7)
    moving = [g for g in first if g is not None and g.requires_grad]
    moving_there = [g for g in wanted if g is not None and g.requires_grad]
    if moving and moving_there:
        agree(
            torch.autograd.grad(sum((g * g).sum() for g in moving), a, allow_unused=True),
            pytorch.autograd.grad(sum((g * g).sum() for g in moving_there), b, allow_unused=True),
            1e-6,
        )
    elif moving_there:  # a derivative that is zero everywhere need not be recorded
        second = pytorch.autograd.grad(sum(g.sum() for g in moving_there), b, allow_unused=True)
        agree([None] * len(b), second, 1e-12)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_function(row: tuple[str, str]) -> None:
    expression, names = row
    a, b = leaves(torch, names), leaves(pytorch, names)
    compare(a, b, evaluated(torch, expression, a), evaluated(pytorch, expression, b))


@pytest.mark.parametrize("row", IN_PLACE, ids=lambda row: row[0])
def test_in_place(row: tuple[str, str]) -> None:
    expression, names = row
    results = []
    for t in (torch, pytorch):
        given = leaves(t, names)
        x = given[0] * 1
        evaluated(t, expression, [x, *given[1:]])
        results.append((given, x))
    (a, ours), (b, theirs) = results
    compare(a, b, ours, theirs)


def test_a_view_follows_its_base() -> None:
    results = []
    for t in (torch, pytorch):
        (x,) = leaves(t, "X")
        y = x * 1
        row = y[0]
        y.mul_(2)
        results.append(([x], row * 3))
    (a, ours), (b, theirs) = results
    compare(a, b, ours, theirs)


def test_whole_quotients_are_exact_and_whole() -> None:
    for b in (3, -3, torch.tensor([3, -7, 2])):
        other = pytorch.tensor(b.numpy()) if isinstance(b, torch.Tensor) else b
        a = np.array([2**53 + 1, -7, 7])
        got = torch.tensor(a).div(b, rounding_mode="trunc")
        want = (
            pytorch.tensor(np.trunc(a[1:]))
            .to(pytorch.int64)
            .div(other if isinstance(other, int) else other[1:], rounding_mode="trunc")
        )
        assert got.dtype == torch.int64
        np.testing.assert_array_equal(got.numpy()[1:], want.numpy())
        first = b if isinstance(b, int) else 3
        assert int(got[0]) == (2**53 + 1) // abs(first) * (1 if first > 0 else -1)
    with pytest.raises(RuntimeError, match="rounding_mode"):
        torch.tensor(1.0).div(2, rounding_mode="up")


def test_what_is_asked_of_permutations_and_derivatives() -> None:
    assert torch.randperm(4, dtype=torch.int32).dtype == torch.int32
    x = torch.ones(2)
    with pytest.raises(NotImplementedError, match="strict=True"):
        torch.autograd.functional.jacobian(lambda x: x * 2, x, strict=True)
    for f in (torch.func.jacrev, torch.func.jacfwd):
        with pytest.raises(NotImplementedError, match="has_aux=True"):
            f(lambda x: (x, x), has_aux=True)
    with pytest.raises(NotImplementedError, match="has_aux=True"):
        torch.func.jvp(lambda x: (x, x), (x,), (x,), has_aux=True)


def test_data_keep_their_digits_in_the_dtype_that_is_asked_for() -> None:
    assert torch.tensor([0.1], dtype=torch.float64).item() == 0.1
    assert (
        torch.tensor([[0.1], [torch.tensor(0.1, dtype=torch.float64)]], dtype=torch.float64)[
            0
        ].item()
        == 0.1
    )
    assert torch.tensor(0.1 + 0.2j, dtype=torch.complex128).item() == 0.1 + 0.2j
    assert torch.tensor(2.0**40 + 1, dtype=torch.int64).item() == 2**40 + 1
    assert torch.tensor(0.1, dtype=torch.float64).new_tensor([0.1]).item() == 0.1
    assert torch.as_tensor([0.1], dtype=torch.float64).item() == 0.1


SHARED = """x.flip(0) x.fliplr() x.rot90(2) torch.diff(x,0) x.matrix_power(1) x.diag() x.roll(0,0)
x.diagonal() x.diagonal(-1) x.unfold(0,2,1) +x x.real x.conj() x.mH x.t() x[1:] x.clamp(-9,9)
x.tril(9) x.triu(-9) torch.nn.functional.max_pool1d(x[None],1)[0] torch.diag(x) x.reshape(9)"""


@pytest.mark.parametrize("text", SHARED.split())
def test_results_share_memory_where_they_do_in_pytorch(text: str) -> None:
    changed = []
    for module in (pytorch, torch):
        x = module.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
        y = eval(text, {"torch": module, "x": x})
        y.fill_(-1)
        changed.append(x.numpy())
    np.testing.assert_array_equal(*changed)


@pytest.mark.parametrize("change", [
    lambda y, x: y.diagonal().mul_(3.0),
    lambda y, x: y.diagonal(1).copy_(x[0, :2]),
    lambda y, x: y.t().diagonal(-1)[0:1].add_(x[2, 2]),
    lambda y, x: y.unfold(0, 2, 2)[..., 1].mul_(2.0),
])  # fmt: skip
def test_diagonals_and_windows_are_assigned_to(change: Any) -> None:
    found = []
    for module in (pytorch, torch):
        x = module.tensor((np.arange(9.0).reshape(3, 3) ** 1.3).tolist(), requires_grad=True)
        y = x * 1
        change(y, x)
        (y**3).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)

    def traced(x: Any) -> Any:
        y = x * 1
        change(y, x)
        return (y**3).sum()

    with pytest.raises(NotImplementedError, match="these are copies"):
        torch.func.grad(traced)(torch.ones(3, 3))


def test_flipped_tensors_are_copies_under_transformations() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = y.flip(0)
        y.mul_(2.0)
        return (z * x).sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(torch.func.grad(f)(x).numpy(), [6.0, 4.0, 2.0])


OUTSIDE = [
    lambda t: t.zeros(3).index_add(0, t.tensor([-1]), t.ones(1)),
    lambda t: t.zeros(3).index_copy(0, t.tensor([-1]), t.ones(1)),
    lambda t: t.zeros(3).gather(0, t.tensor([-1])),
    lambda t: t.nn.functional.one_hot(t.tensor([-1]), 3),
    lambda t: t.distributions.Exponential(1.0).log_prob(t.tensor(-1.0)),
    lambda t: t.distributions.Gamma(2.0, 1.0).log_prob(t.tensor(-1.0)),
    lambda t: t.distributions.Beta(2.0, 1.0).log_prob(t.tensor(1.5)),
    lambda t: t.distributions.LogNormal(2.0, 1.0).log_prob(t.tensor(0.0)),
    lambda t: t.distributions.Uniform(0.0, 1.0).log_prob(t.tensor(1.5)),
    lambda t: t.distributions.Normal(0.0, 1.0).log_prob(t.tensor(float("nan"))),
    lambda t: t.distributions.Bernoulli(0.5).log_prob(t.tensor(2.0)),
    lambda t: t.distributions.Poisson(2.0).log_prob(t.tensor(0.5)),
    lambda t: t.distributions.Poisson(2.0).log_prob(t.tensor(float("inf"))),
    lambda t: t.distributions.Categorical(t.tensor([0.5, 0.5])).log_prob(t.tensor(-1)),
]


@pytest.mark.parametrize("call", OUTSIDE)
def test_values_outside_raise_as_in_pytorch(call: Any) -> None:
    with pytest.raises((RuntimeError, IndexError, ValueError)) as expected:
        call(pytorch)
    with pytest.raises((RuntimeError, IndexError, ValueError)) as found:
        call(torch)
    kinds = {type(expected.value), type(found.value)}
    assert len(kinds) == 1 or ValueError not in kinds


def test_densities_outside_are_given_without_checks() -> None:
    made = torch.distributions.LogNormal(0.0, 1.0, validate_args=False).log_prob(torch.tensor(-1.0))
    assert np.isnan(made.item())
    x = torch.tensor(-1.0)  # traced values are not looked at
    slope = torch.func.grad(lambda x: torch.distributions.Exponential(2.0).log_prob(x))(x)
    assert slope.item() == -2.0
