"""Bad arguments of PyTorch's functions: PyTorch's own class of error, which names the argument."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from autojit import torch as ours

theirs = pytest.importorskip("torch")

#: Good calls: each argument is replaced in turn.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("exp", {"input": "x"}), ("sum", {"input": "x", "dim": 0}),
    ("softmax", {"input": "x", "dim": 1}),
    ("cat", {"tensors": ["x", "x"], "dim": 0}), ("stack", {"tensors": ["x"], "dim": 0}),
    ("matmul", {"input": "x", "other": "x"}), ("clamp", {"input": "x", "min": 0.0, "max": 1.0}),
    ("reshape", {"input": "x", "shape": (4,)}), ("permute", {"input": "x", "dims": (1, 0)}),
    ("gather", {"input": "x", "dim": 0, "index": "n"}), ("eye", {"n": 3}),
    ("zeros", {"size": (2, 3)}), ("full", {"size": (2,), "fill_value": 1.5}),
    ("linspace", {"start": 0.0, "end": 1.0, "steps": 3}), ("topk", {"input": "x", "k": 1}),
    ("where", {"condition": "b", "input": "x", "other": "x"}), ("tril", {"input": "x"}),
    ("linalg.inv", {"A": "x"}), ("linalg.solve", {"A": "x", "B": "x"}),
    ("linalg.norm", {"input": "x"}), ("zeros_like", {"input": "x"}),
    ("nn.functional.linear", {"input": "x", "weight": "x"}),
    ("nn.functional.relu", {"input": "x"}),
    ("nn.functional.layer_norm", {"input": "x", "normalized_shape": (2,)}),
    ("nn.functional.mse_loss", {"input": "x", "target": "x"}),
    ("nn.Linear", {"in_features": 2, "out_features": 3}),
    ("nn.Embedding", {"num_embeddings": 5, "embedding_dim": 3}),
    ("nn.LayerNorm", {"normalized_shape": 3}), ("nn.BatchNorm1d", {"num_features": 3}),
]  # fmt: skip
BAD: dict[str, Any] = {
    "None": None, "a text": "wrong", "a list": ["a", None], "an object": object(),
    "a dict": {"a": 1},
    "objects": np.ones(2, object),
}  # fmt: skip
#: Where PyTorch takes these, or where its own error is Python's.
KNOWN = {
    ("linspace", "end", "a list"), ("clamp", "min", "None"), ("clamp", "max", "None"),
    ("sum", "dim", "None"), ("softmax", "dim", "None"),
}  # fmt: skip


def called(torch: Any, name: str, given: dict[str, Any]) -> Any:
    named = {
        "x": torch.tensor([[1.0, 2.0], [3.0, 5.0]]), "n": torch.tensor([[0, 1]]),
        "b": torch.tensor([[True, False]]),
    }  # fmt: skip

    def made(value: Any) -> Any:
        if isinstance(value, list) and value and value[0] == "x":
            return [named["x"] for _ in value]
        return named.get(value, value) if isinstance(value, str) else value

    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    try:
        return function(*map(made, given.values()))
    except Exception as error:
        return error


@pytest.mark.parametrize(("name", "good"), CALLS, ids=[name for name, _ in CALLS])
def test_the_error_is_that_of_pytorch_and_names_the_argument(name: str, good: Any) -> None:
    assert not isinstance(called(ours, name, good), Exception)
    for argument in good:
        for kind, bad in BAD.items():
            given = {**good, argument: bad}
            want = called(theirs, name, given)
            if not isinstance(want, Exception) or (name, argument, kind) in KNOWN:
                continue
            got = called(ours, name, given)
            case = f"{name}({argument}={bad!r}): {got!r}, and {want!r}"
            assert type(got) in (TypeError, RuntimeError, ValueError), case
            assert re.search(rf"argument|'{argument}'|Tensor|must be|size|shape", str(got)), case


@pytest.mark.parametrize(
    "call",
    [
        "x.sum(1, keepdim='wrong')", "torch.mean(x, 1, keepdim=[1])", "x.max(1, keepdim='wrong')",
        "torch.topk(x, 1, largest='wrong')", "torch.sort(x, descending='wrong')", "x.any(1, 'yes')",
        "torch.var(x, unbiased='wrong')", "torch.amax(x, 1, 'wrong')", "x.logsumexp(1, 'wrong')",
        "torch.isclose(x, x, equal_nan='w')", "torch.tensor([1.0], requires_grad='wrong')",
        "torch.bucketize(x, torch.ones(2), right='wrong')", "torch.norm(x, dim=0, keepdim='wrong')",
        "torch.nn.functional.max_pool1d(torch.ones(1, 1, 4), 2, ceil_mode='w')",
    ],
)  # fmt: skip
def test_what_is_neither_true_nor_false_is_refused(call: str) -> None:
    words = []
    for torch in (theirs, ours):
        with pytest.raises(TypeError) as caught:
            eval(call, {"torch": torch, "x": torch.ones(2, 3)})
        words.append(str(caught.value))
    assert "must be bool, not" in words[1]


def test_words_that_are_no_options_are_refused() -> None:
    for torch in (theirs, ours):
        x = torch.ones(2, 3)
        with pytest.raises(ValueError, match="Invalid padding string 'wrong'"):
            torch.nn.Conv1d(1, 1, 3, padding="wrong")
        with pytest.raises(RuntimeError, match='one of "xy" or "ij"'):
            torch.meshgrid(x[0], x[0], indexing="wrong")
        with pytest.raises(ValueError, match="could not convert"):
            torch.nn.utils.clip_grad_norm_([x], "wrong")


def test_gradcheck_of_bfloat16_says_what_to_check() -> None:
    x = ours.ones(2, dtype=ours.bfloat16, requires_grad=True)
    with pytest.raises(TypeError, match="double precision") as caught:
        ours.autograd.gradcheck(ours.sin, x)
    lines = [line.strip() for line in str(caught.value).splitlines()[1:]]
    exec("\n".join(lines), {"torch": ours, "f": ours.sin, "x": x})


def test_quantiles_have_no_derivative_by_the_share() -> None:
    q = ours.tensor(0.5, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"q\.detach\(\)"):
        ours.quantile(ours.arange(3.0), q)


def test_misspelt_names_and_wrong_sizes_are_refused() -> None:
    x = ours.ones(2, 3)
    cases = {
        "zeros": lambda: ours.zeros(2, requires_gard=True),
        "sum": lambda: ours.sum(x, keepdims_=True),
        "Linear": lambda: ours.nn.Linear(2, 3, biass=False),
        "view": lambda: x.view(3, 2.0),
        "arange": lambda: ours.arange(0, None),
        "to": lambda: x.to(object()),
        "where": lambda: ours.where(x > 0, None, x),
        "as_tensor": lambda: ours.as_tensor("text"),
    }
    words = {}
    for name, call in cases.items():
        with pytest.raises(TypeError) as caught:
            call()
        words[name] = str(caught.value)
    assert "Did you mean requires_grad?" in words["zeros"]
    assert "Did you mean bias?" in words["Linear"]
    assert words["view"].startswith("view(): argument")
    assert "must be Tensor, not NoneType" in words["where"]
