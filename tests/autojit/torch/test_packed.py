"""Packed sequences, and recurrent layers over them, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import torch

pytorch = pytest.importorskip("torch", reason="the witness is not installed")


def batch(t: Any, lengths: list[int]) -> Any:
    x = np.random.default_rng(0).standard_normal((len(lengths), max(lengths), 3)).astype("f")
    return t.tensor(x, requires_grad=True)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("lengths", [[5, 3, 3, 1], [2, 5, 1, 5, 3]])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("settings", [
    {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True},
])  # fmt: skip
def test_layers_over_packed_sequences(
    kind: str, settings: dict[str, Any], lengths: list[int]
) -> None:
    found = []
    theirs = getattr(pytorch.nn, kind)(3, 4, **settings)
    ours = getattr(torch.nn, kind)(3, 4, **settings)
    ours.load_state_dict({k: torch.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    for t, layer in ((torch, ours), (pytorch, theirs)):
        rnn = t.nn.utils.rnn
        x = batch(t, lengths)
        packed = rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=lengths == sorted(lengths)[::-1]
        )
        made, last = layer(packed)
        padded, counts = rnn.pad_packed_sequence(made, batch_first=True, padding_value=-1.0)
        assert counts.tolist() == lengths
        states = list(last) if kind == "LSTM" else [last]
        ((padded * padded).sum() + sum((s**3).sum() for s in states)).backward()
        grads = [p.grad for p in layer.parameters()]
        parts = [packed.data, packed.batch_sizes, made.data, padded, *states, x.grad, *grads]
        found.append([p.detach().numpy() for p in parts])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_states_before_are_those_of_the_sequences() -> None:
    found = []
    theirs, ours = pytorch.nn.GRU(3, 4), torch.nn.GRU(3, 4)
    ours.load_state_dict({k: torch.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    for t, layer in ((torch, ours), (pytorch, theirs)):
        x = batch(t, [2, 4, 3])
        h = t.tensor(np.arange(12.0, dtype="f").reshape(1, 3, 4) / 10)
        rnn = t.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, [2, 4, 3], batch_first=True, enforce_sorted=False)
        made, last = layer(packed, h)
        found.append([made.data.detach().numpy(), last.detach().numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_lists_of_sequences(side: str) -> None:
    found = []
    for t in (torch, pytorch):
        rnn = t.nn.utils.rnn
        rows = [t.arange(n, dtype=t.float32) for n in (3, 1, 4)]
        padded = rnn.pad_sequence(rows, padding_value=9.0, padding_side=side)
        packed = rnn.pack_sequence(rows, enforce_sorted=False)
        again = rnn.unpack_sequence(packed)
        back = rnn.unpad_sequence(rnn.pad_sequence(rows), t.tensor([3, 1, 4]))
        longer, _ = rnn.pad_packed_sequence(packed, total_length=6)
        parts = [padded, packed.data, packed.sorted_indices, packed.unsorted_indices, longer]
        found.append([x.numpy() for x in (*parts, *again, *back)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("code", [
    "rnn.pack_padded_sequence(x, [1, 3])", "rnn.pack_padded_sequence(x, [3, 0])",
    "rnn.pack_padded_sequence(x, [3])", "rnn.pad_packed_sequence(rnn.pack_sequence([y]), "
    "total_length=1)",
])  # fmt: skip
def test_errors_are_pytorchs(code: str) -> None:
    words = []
    for t in (torch, pytorch):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            eval(code, {"rnn": t.nn.utils.rnn, "x": t.ones(3, 2), "y": t.ones(3)})
        words.append(str(caught.value).splitlines()[0])
    assert words[0] == words[1]


def test_rnn_is_a_module_that_can_be_imported_from() -> None:
    from autojit.torch.nn.utils.rnn import pack_padded_sequence

    assert pack_padded_sequence is torch.nn.utils.rnn.pack_padded_sequence
