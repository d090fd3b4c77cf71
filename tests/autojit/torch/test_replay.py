"""Operations and backward passes that are met often run as compiled code, with the same results."""

import numpy as np
import pytest

from autojit import torch
from autojit.torch.engine import replay, rules

F = torch.nn.functional
rng = np.random.default_rng(0)


@pytest.fixture
def soon(monkeypatch):
    """Compile from the third time on; return the list of replayed passes, for counting."""
    monkeypatch.setattr(replay, "VERY_OFTEN", 1)
    monkeypatch.setattr(replay, "times_before", lambda program: 1)
    monkeypatch.setattr(rules, "times_before", lambda program: 2)
    count = []
    whole = replay.replayed

    def counted(*args, **kwargs):
        found = whole(*args, **kwargs)
        count.append(found is not None)
        return found

    monkeypatch.setattr("autojit.torch.engine.backward.replayed", counted)
    return count


def leaves():
    return {
        name: torch.tensor(rng.uniform(0.5, 2, shape).astype(np.float32), requires_grad=True)
        for name, shape in {"x": (3, 4), "y": (4,), "w": (5, 4), "s": (), "u": (4,)}.items()
    }


def network(x, y, w, s, u):
    h = torch.relu(F.linear(x + y, w) * s)
    return F.cross_entropy(h, torch.tensor([0, 4, 2])) + u.sum()


def several_results(x, y, w, s, u):
    a, b = torch.split(x, [1, 3], dim=1)
    top, _ = torch.max(b, dim=1)
    return (a[:, 0] * top).sum() * s + y[0] + w.mean() + u[1]


def twice(x, y, w, s, u):
    z = x * x
    return (z + z * x).sum() + (x + y).sum() + s * s * y.sum() + w.sum() * u.sum()


def changed_in_place(x, y, w, s, u):
    z = x.clone()
    z[:, 1] = y[:3] * s
    z += 1
    return (z**2).sum() + torch.softmax(w, 1)[0, 0] * u[3]


def same_gradient(x, y, w, s, u):
    return ((y + u) * s).sum() + x.sum() + w.sum()


GRAPHS = [network, several_results, twice, changed_in_place, same_gradient]


@pytest.mark.parametrize("f", GRAPHS)
def test_gradients_are_the_same(f, soon):
    for repeat in range(5):
        at = leaves()
        f(**at).backward()
        found = {k: v.grad.numpy().copy() for k, v in at.items()}
        again = f(**at)
        want = torch.autograd.grad(again, list(at.values()))  # is not replayed
        for (name, g), w in zip(found.items(), want, strict=True):
            np.testing.assert_allclose(g, w.numpy(), rtol=2e-5, atol=1e-6, err_msg=name)
        if repeat > 2:
            for v in at.values():  # gradients are arrays of their own
                v.grad.mul_(0)
            again = f(**at)
            again.backward()
            for v, w in zip(at.values(), want, strict=True):
                np.testing.assert_allclose(v.grad.numpy(), w.numpy(), rtol=2e-5, atol=1e-6)
    assert soon[-1]


def steps(count, f):
    """Gradients of leaves added up over passes."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for k in range(count):
        f(x, float(k))
    return x.grad.tolist()


def test_numbers_are_inputs_and_gradients_add_up(soon):
    assert steps(6, lambda x, k: (x * k).sum().backward()) == [15.0, 15.0]
    assert sum(soon) >= 3


def test_roots_have_cotangents(soon):
    def f(x, k):
        y, z = x * 2, x**2
        torch.autograd.backward([y, z], [torch.tensor([k, 1.0]), torch.tensor([1.0, k])])

    assert steps(6, f) == [2 * 15 + 2 * 6.0, 2 * 6 + 4 * 15.0]
    assert soon[-1]


def test_the_branch_that_is_taken_counts(soon):
    def f(x, k):
        y = x * 3 if k % 2 else torch.exp(x)
        y.sum().backward()

    assert steps(8, f) == pytest.approx([12 + 4 * np.e, 12 + 4 * np.e**2])
    assert soon[-1]


def test_errors_stay(soon):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(5):
        y = (x.exp() * x).sum()
        y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    e = x.exp()
    y = (e * x).sum()
    e.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_hooks_are_called(soon):
    seen = []

    def f(x, k):
        y = x * 2
        if k == 5:
            y.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
        y.sum().backward()

    assert steps(7, f) == [2.0 * 6 + 20] * 2
    assert seen == [[1.0, 1.0]]
    assert soon[4:] == [True, False, True]


def test_a_hook_of_a_leaf_sees_the_gradient(soon):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    for _ in range(5):
        x.grad = None
        (x * 2).sum().backward()
    assert seen == [[2.0, 2.0]] * 5
    assert soon[-1]


def test_a_compiled_function_is_a_part_of_the_graph(soon):
    f = torch.compile(lambda x: torch.sin(x) * x)

    def g(x, k):
        f(x * k).sum().backward()

    at = np.array([1.0, 2.0])
    want = sum(k * (np.cos(k * at) * k * at + np.sin(k * at)) for k in range(6))
    assert steps(6, g) == pytest.approx(want.tolist(), rel=1e-5)


def test_operations_are_compiled_and_agree(soon):
    x = torch.tensor(rng.normal(size=(6, 8)).astype(np.float32), requires_grad=True)
    target = torch.tensor([0, 1, 2, -100, 3, 7])
    found = [F.cross_entropy(x, target, label_smoothing=0.1).item() for _ in range(5)]
    np.testing.assert_allclose(found, found[0], rtol=1e-6)
    with pytest.raises(IndexError):
        F.cross_entropy(x, torch.tensor([0, 1, 2, 8, 3, 7]), label_smoothing=0.1)


def test_large_graphs_are_passed_node_by_node(soon):
    x = torch.tensor(1.0, requires_grad=True)
    for _ in range(4):
        y = x
        for _ in range(replay.LARGEST):
            y = y * 1.0
        y.backward()
    assert x.grad.item() == 4.0
    assert not any(soon)


def test_steps_of_an_optimiser_keep_what_others_see():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen, view = model.weight.detach(), model.weight[0]
    outside = model.bias.data.numpy()
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).sum().backward()
        optimizer.step()
        np.testing.assert_array_equal(seen.numpy(), model.weight.detach().numpy())
        np.testing.assert_array_equal(view.detach().numpy(), model.weight[0].detach().numpy())
        np.testing.assert_array_equal(outside, model.bias.detach().numpy())
    assert model.weight._version >= 3


def test_leaves_that_are_roots_are_told_apart_by_their_types(soon):
    def gradient(dtype, shape):
        x = torch.ones(shape, dtype=dtype, requires_grad=True)
        s = torch.tensor(2.0, requires_grad=True)
        cotangents = [torch.tensor(1.0), torch.full(shape, 0.1, dtype=dtype)]
        torch.autograd.backward([s * s, x], cotangents)
        return x.grad.numpy()

    for _ in range(4):
        gradient(torch.float32, (2,))
    assert soon[-1]
    for _ in range(4):
        np.testing.assert_array_equal(gradient(torch.float64, (2,)), np.full(2, 0.1), strict=True)
    np.testing.assert_array_equal(gradient(torch.float64, (3,)), np.full(3, 0.1), strict=True)


def test_settings_that_are_equal_are_told_apart(soon):
    x = torch.tensor([-2.0, 1.0], requires_grad=True)
    for slope in [0.0, -0.0, np.float64(2), 2, True] * 3:
        y = F.leaky_relu(x, slope)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        for found, want in ((y, [-2.0 * slope, 1.0]), (gradient, [slope, 1.0])):
            np.testing.assert_array_equal(found.detach().numpy(), np.array(want, "f"), strict=True)
            np.testing.assert_array_equal(np.signbit(found.detach().numpy()), np.signbit(want))


@pytest.mark.parametrize("number", [np.float64(0.5), np.int64(2), 0.5])
def test_numbers_of_numpy_decide_no_dtype(number):
    x = torch.tensor([1.0, 2.0])
    made = [
        torch.addcmul(x, x, x, value=number), F.softplus(x, number),
        F.huber_loss(x, x, delta=number),
        torch.where(torch.tensor([1, 0]) > 0, torch.tensor([1, 2]), np.float64(number)),
        torch.full((2,), float(number)), torch.full((2,), np.float64(number)),
        torch.scalar_tensor(number), torch.arange(np.float32(number)),
    ]  # fmt: skip
    assert {y.dtype for y in made} == {torch.float32}


CAPTURING = {
    "cumsum": lambda x: x.cumsum(0),
    "unfold": lambda x: x.unfold(1, 3, 2),
    "interpolate": lambda x: F.interpolate(x[None], scale_factor=0.5, mode="linear"),
}


@pytest.mark.parametrize("name", CAPTURING)
def test_operations_with_constants_of_their_own_are_compiled(soon, name):
    x = torch.tensor(rng.standard_normal((4, 8)), requires_grad=True)
    found = []
    for _ in range(4):
        y = CAPTURING[name](x)
        (gradient,) = torch.autograd.grad((y * y).sum(), x, retain_graph=True)
        x.grad = None
        (y * y).sum().backward()
        found.append((y.detach().numpy(), gradient.numpy(), x.grad.numpy()))
    assert soon[-1]
    for first, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_allclose(first, other, rtol=1e-12)
