"""What lies around training: data, files, half precision, profiles."""

from __future__ import annotations

import io
import json
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


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_autocast_rounds_as_pytorch_does(name: str) -> None:
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(s).astype(np.float32) for s in ((3, 4), (5, 4)))
    results = []
    for t in (torch, pytorch):
        a, b = (t.tensor(v, requires_grad=True) for v in (w, x))
        with t.amp.autocast("cpu", dtype=getattr(t, name)):
            y = t.nn.functional.linear(b, a)
            z = b @ a.T
        assert str(y.dtype) == str(z.dtype) == f"torch.{name}"
        (y.float().sin().sum() * 3).backward()
        results.append([v.detach().float().numpy() for v in (y, z, a.grad, b.grad)])
        assert a.grad.dtype is t.float32
    precision = 2e-3 if name == "float16" else 2e-2
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, precision, precision)
    y = pytorch.from_numpy(results[0][0])
    assert y.to(getattr(pytorch, name)).float().tolist() == y.tolist()


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


def test_compiled_modules_refuse_autocast_and_changes_of_statistics() -> None:
    compiled = torch.compile(torch.nn.Linear(2, 3))
    compiled(torch.ones(1, 2))
    with (
        torch.autocast("cpu"),
        pytest.raises(NotImplementedError, match="half precision is not covered"),
    ):
        compiled(torch.ones(1, 2))
    norm = torch.nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match=r"BatchNorm1d\(3, track_running_stats=False\)"):
        torch.compile(norm)(torch.ones(4, 3))
    assert norm.num_batches_tracked == 0
    assert torch.compile(norm.eval())(torch.ones(4, 3)).shape == (4, 3)


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
        (torch, "softmaxx", "softmax"), (torch.nn, "Conv4d", "Conv2d"),
        (torch.nn.functional, "relu7", "relu"), (torch.distributions, "Normall", "Normal"),
    ):  # fmt: skip
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'. Near it: {near}"):
            getattr(module, name)
    with pytest.raises(AttributeError, match="It is not covered"):
        getattr(torch, "zz" * 9)
