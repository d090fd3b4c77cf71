"""What lies around training: data, files, half precision, profiles."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autojit import torch

pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")

data = torch.utils.data


def test_batches_have_all_samples_once() -> None:
    rows = data.TensorDataset(torch.arange(10), torch.arange(10) * 2.0)
    loader = data.DataLoader(rows, batch_size=4, shuffle=True)
    assert len(loader) == 3
    seen = [x.tolist() for x, y in loader if (y == 2 * x).all()]
    assert [len(s) for s in seen] == [4, 4, 2]
    flat = [k for s in seen for k in s]
    assert sorted(flat) == list(range(10)) != flat
    short = data.DataLoader(rows, batch_size=4, drop_last=True)
    assert [x.tolist() for x, _ in short] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(short) == 2
    orders = [
        [x.tolist() for x, _ in data.DataLoader(
            rows, 5, shuffle=True, generator=torch.Generator().manual_seed(7)
        )]
        for _ in range(2)
    ]  # fmt: skip
    assert orders[0] == orders[1]


class Squares(data.Dataset):
    def __len__(self) -> int:
        return 5

    def __getitem__(self, k: int) -> Any:
        return {"x": torch.tensor([float(k)]), "square": k * k, "name": f"n{k}", "half": k / 2}


def test_samples_are_collated_as_pytorch_does() -> None:
    ours = next(iter(data.DataLoader(Squares(), batch_size=3)))
    theirs = next(iter(pytorch.utils.data.DataLoader(
        [{**Squares()[k], "x": pytorch.tensor([float(k)])} for k in range(3)], batch_size=3
    )))  # fmt: skip
    for key, value in theirs.items():
        if isinstance(value, list):
            assert list(ours[key]) == value
        else:
            assert ours[key].tolist() == value.tolist()
            assert str(ours[key].dtype) == str(value.dtype)
    own = data.DataLoader(Squares(), 2, collate_fn=lambda b: [s["square"] for s in b])
    assert list(own) == [[0, 1], [4, 9], [16]]
    both = data.ConcatDataset([range(3), [7, 8]])
    assert [both[k] for k in (0, 2, 3, -1)] == [0, 2, 7, 8]
    sampler = data.WeightedRandomSampler([0.0, 1.0, 0.0], 4)
    assert list(sampler) == [1] * 4

    class Stream(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(5))

    assert [x.tolist() for x in data.DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]


def test_a_random_split_is_a_partition() -> None:
    parts = data.random_split(list(range(10)), [0.5, 0.3, 0.2])
    assert [len(p) for p in parts] == [5, 3, 2]
    assert sorted(x for p in parts for x in p) == list(range(10))
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(list(range(10)), [5, 4])
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        data.DataLoader([1], shuffle=True, sampler=[0])


def test_a_checkpoint_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(4, 2)
    model(x).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3,
             "losses": [0.5, float("inf")], "shape": (2, None), 4: "four"}  # fmt: skip
    path = tmp_path / "checkpoint.npz"
    path.write_text("what was there before")
    torch.save(state, path)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint.npz"]
    loaded = torch.load(path)
    assert loaded["epoch"] == 3
    assert loaded["losses"] == [0.5, float("inf")]
    assert loaded["shape"] == (2, None)
    assert loaded[4] == "four"
    other = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    other.load_state_dict(loaded["model"])
    assert other.eval()(x).tolist() == model.eval()(x).tolist()
    assert loaded["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]
    second = torch.optim.Adam(other.parameters())
    second.load_state_dict(loaded["optimizer"])
    for m, o in ((model, optimizer), (other, second)):
        o.zero_grad()
        m.train()(x).sum().backward()
        o.step()
    assert other[0].weight.tolist() == model[0].weight.tolist()


def test_state_dicts_are_npz_files_and_failures_leave_no_file(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    with np.load(buffer) as file:
        assert file["weight"].tolist() == model.weight.tolist()
    path = tmp_path / "model.npz"
    np.savez(path, weight=np.ones((1, 2), np.float32), bias=np.zeros(1, np.float32))
    model.load_state_dict(torch.load(path))
    assert model.weight.tolist() == [[1.0, 1.0]]
    with pytest.raises(TypeError, match=r"torch.save\(model.state_dict\(\), path\)"):
        torch.save({"model": model}, path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]
    np.savez(path, weight=np.array([{}], object))
    with pytest.raises(ValueError, match="allow_pickle"):
        torch.load(path)


def of_linear(t: Any, dtype: Any) -> list[Any]:
    """Autocast: what is lowered, what stays, losses in float32, and gradients."""
    rng = np.random.default_rng(0)
    w, x = (t.tensor(rng.standard_normal(s).astype(np.float32)) for s in ((3, 4), (5, 4)))
    w.requires_grad_()
    x.requires_grad_()
    with t.amp.autocast("cpu", dtype=dtype):
        y = t.nn.functional.linear(x, w)
        z, a = x @ w.T, t.relu(y)
        s, n = t.softmax(a, -1), t.nn.functional.layer_norm(y, (3,))
        m = t.nn.functional.mse_loss(a, t.zeros(5, 3))
        c = t.nn.functional.cross_entropy(y, t.tensor([0, 1, 2, 0, 1]))
    (y.float().sin().sum() * 3 + m + c).backward()
    assert w.grad.dtype is t.float32
    return [y, z, a, s, n, m, c, y + x[:, :3], w.grad, x.grad]


def of_arithmetic(t: Any, dtype: Any) -> list[Any]:
    """Tensors in half precision: operations, reductions, views, changes in place."""
    x = t.linspace(-2, 2, 12).reshape(3, 4).to(dtype)
    y = x.clone()
    y += 1
    y[0] = 3.0
    y.mul_(0.5)
    y[1].add_(1)
    made = [x * 2.5, x / 3, x**2, x + t.ones(4), x * t.tensor(2.0), x * t.arange(4), x > 0, y]
    made += [x.exp(), t.sigmoid(x), x.sum(), x.mean(0), x.std(), x.max(), x.argmax(1)]
    made += [t.softmax(x, 1), x.sum(dtype=t.float32), x @ x.T, x.T, t.cat([x, y]), x.sort(1)[0]]
    made += [t.zeros(2, dtype=dtype), t.full((2,), 0.1, dtype=dtype), t.arange(3, dtype=dtype)]
    return [*made, t.where(x > 0, x, y), t.tensor([0.1, 3], dtype=dtype)]


def of_gradients(t: Any, dtype: Any) -> list[Any]:
    """Gradients of tensors in half precision, which are added up."""
    x = t.linspace(-1, 1, 12).reshape(3, 4).to(dtype).requires_grad_()
    w = t.linspace(0, 1, 12).reshape(3, 4).requires_grad_()
    for _ in range(2):
        ((x @ w.to(dtype).T).tanh() * x[:, :3]).sum().backward()
        (x * x).mean().backward()
    return [x.grad, w.grad]


def of_training(t: Any, dtype: Any) -> list[Any]:
    """A model in half precision."""
    model = t.nn.Sequential(t.nn.Linear(4, 3), t.nn.ReLU(), t.nn.Linear(3, 1))
    model = model.half() if dtype is t.float16 else model.bfloat16()
    with t.no_grad():
        for p in model.parameters():
            p.fill_(0.25)
    optimizer = t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = t.linspace(-1, 2, 12).reshape(3, 4).to(dtype)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return [loss, *model.parameters()]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("program", [of_linear, of_arithmetic, of_gradients, of_training])
def test_half_precision_is_pytorchs(program: Callable[..., Any], name: str) -> None:
    ours, theirs = (program(t, getattr(t, name)) for t in (torch, pytorch))
    unit = 2.0**-10 if name == "float16" else 2.0**-7
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape)), k
        got, want = (np.asarray(v.detach().float().numpy(), float) for v in (a, b))
        np.testing.assert_allclose(got, want, atol=4 * unit * np.max(np.abs(want)), err_msg=f"{k}")


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_tensors_of_half_precision(name: str, tmp_path: Path) -> None:
    values = np.float32([0.1, -2.5, 3e-3, 1e30])
    ours, theirs = (t.tensor(values).to(getattr(t, name)) for t in (torch, pytorch))
    assert ours.tolist() == theirs.tolist()
    assert repr(ours[:3]) == repr(theirs[:3])
    assert ours[1].item() == -2.5
    assert (ours.element_size(), ours.dtype.itemsize) == (2, 2)
    assert ours.is_floating_point()
    torch.save({"x": ours}, tmp_path / "x.npz")
    loaded = torch.load(tmp_path / "x.npz")["x"]
    assert (loaded.dtype, loaded.tolist()) == (ours.dtype, ours.tolist())
    assert (ours + torch.ones(4, dtype=torch.float16)).dtype is (
        torch.float16 if name == "float16" else torch.float32
    )
    if name == "float16":
        assert ours.numpy().dtype == np.float16
    else:
        with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
            ours.numpy()


def test_scaled_losses_skip_steps_with_infinities() -> None:
    p = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = torch.optim.SGD([p], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    scales = []
    for factor in (1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append((scaler.get_scale(), p.item()))
    assert scales == [(4.0, 1.5), (2.0, 1.5), (2.0, 1.0), (4.0, 0.5)]
    optimizer.zero_grad()
    scaler.scale(p.sum() * 2).backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)


def test_cotangents_overflow_in_half_precision() -> None:
    w = torch.ones(1, 1, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        y = torch.nn.functional.linear(torch.ones(1, 1), w)
    (y.float() * 1e5).sum().backward()
    assert w.grad.item() == float("inf")
    with pytest.raises(ValueError, match=r"is not torch\.bfloat16 or torch\.float16"):
        torch.amp.autocast("cpu", dtype=torch.float32)


def test_compiled_modules_under_autocast_and_changes_of_statistics() -> None:
    model = torch.nn.Linear(2, 3)
    compiled, x = torch.compile(model), torch.randn(4, 2)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            y = compiled(x)
            assert y.dtype is dtype
            assert y.tolist() == model(x).tolist()
        model.zero_grad()
        y.float().sum().backward()
        kept = model.weight.grad.clone()
        model.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            model(x).float().sum().backward()
        assert model.weight.grad.tolist() == kept.tolist()
    norm = torch.nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match=r"BatchNorm1d\(3, track_running_stats=False\)"):
        torch.compile(norm)(torch.ones(4, 3))
    assert norm.num_batches_tracked == 0
    assert torch.compile(norm.eval())(torch.ones(4, 3)).shape == (4, 3)


def test_the_classifier_of_the_profiling_example() -> None:
    pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (64, 784)).astype(np.float32), rng.integers(0, 10, 64)
    start = [rng.normal(0, 0.05, s).astype(np.float32) for s in
             ((256, 784), (256,), (128, 256), (128,), (10, 128), (10,))]  # fmt: skip

    def trained(t: Any) -> tuple[list[float], list[Any], Any]:
        nn, losses = t.nn, []
        model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                              nn.Linear(128, 10))  # fmt: skip
        for p, values in zip(model.parameters(), start, strict=True):
            p.data = t.from_numpy(values.copy())
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)
        images, labels = t.from_numpy(x), t.from_numpy(y)
        with t.profiler.profile() as prof:
            for _ in range(3):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(images), labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return losses, [p.detach().numpy() for p in model.parameters()], prof

    ours, theirs = trained(torch), trained(pytorch)
    np.testing.assert_allclose(ours[0], theirs[0], 1e-5)
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-6)
    counts = [{a.key: a.count for a in prof.key_averages()} for prof in (ours[2], theirs[2])]
    for key in ("aten::addmm", "aten::relu"):
        assert counts[0][key] == counts[1][key] == {"aten::addmm": 9, "aten::relu": 6}[key]


def test_a_profile_has_all_operations(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    with torch.profiler.profile(record_shapes=True) as prof:
        with torch.profiler.record_function("forward"):
            loss = model(torch.ones(2, 4)).sum()
        loss.backward()
    found = {a.key: a for a in prof.key_averages()}
    assert list(found) == [
        "forward", "aten::addmm", "aten::relu", "aten::sum", "SumBackward0", "ReluBackward0",
        "AddmmBackward0",
    ]  # fmt: skip
    assert found["aten::addmm"].input_shapes == [[2, 4], [3, 4], [3]]
    inner = sum(found[f"aten::{n}"].cpu_time_total for n in ("addmm", "relu", "sum"))
    assert found["forward"].cpu_time_total == pytest.approx(
        inner + found["forward"].self_cpu_time_total
    )
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=3).splitlines()
    assert len(table) == 8
    assert "Self CPU time total" in table[-1]
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == 7
    assert {e["cat"] for e in events} == {
        "user_annotation",
        "cpu_op",
        "backward",
    }
    before = len(prof.events())
    torch.ones(2).exp()
    assert len(prof.events()) == before
    with pytest.raises(NotImplementedError, match="profile_memory is not covered"):
        torch.profiler.profile(profile_memory=True)


def test_a_missing_name_is_said_with_the_nearest() -> None:
    for module, name, near in (
        (torch, "softmaxx", "softmax"), (torch.nn, "Conv4d", "Conv3d"),
        (torch.nn.functional, "relu7", "relu"), (torch.distributions, "Normall", "Normal"),
    ):  # fmt: skip
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'. Similar names: {near}"):
            getattr(module, name)
    with pytest.raises(AttributeError, match="It is not covered"):
        getattr(torch, "zz" * 9)
