"""Each thing that the tutorials show has a test and a place in the documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What tutorials show: the words that begin its part of the page, and a test.
SHOWN = {
    "scalar engine": ("A scalar engine", "scalar/test_value.py", "test_micrograds_sanity_check"),
    "deep graphs": ("A scalar engine", "scalar/test_value.py", "test_deep_chain"),
    "Neuron, Layer, MLP": ("Neuron, Layer, MLP", "scalar/test_value.py", "test_network"),
    "optimisers, schedules": (
        "Optimisers, schedules, clipping, mini-batches",
        "torch/test_optim.py",
        "test_optimizer_is_pytorchs",
    ),
    "mini-batches": (
        "Optimisers, schedules, clipping, mini-batches",
        "torch/test_around.py",
        "test_batches_have_all_samples_once",
    ),
    "drawing": ("Drawing the graph", "scalar/test_value.py", "test_repr_label_and_graph"),
    "checking": (
        "Checking gradients",
        "torch/test_autograd.py",
        "test_gradcheck_finds_a_wrong_backward",
    ),
    "leaves and graphs": (
        "Leaves, `grad`, `no_grad`, `detach`, `retain_graph`",
        "torch/test_autograd.py",
        "test_second_backward_needs_retain_graph",
    ),
    "own functions": (
        "Custom derivatives",
        "torch/test_autograd.py",
        "test_own_function",
    ),
    "hooks, in-place changes": (
        "Hooks and the graph",
        "torch/test_autograd.py",
        "test_what_is_saved_may_not_change",
    ),
    "anomalies": (
        "Hooks and the graph",
        "torch/test_autograd.py",
        "test_anomaly_names_the_line",
    ),
    "tensors": ("Tensors", "torch/test_functions.py", "test_function"),
    "control flow": (
        "Control flow on values",
        "torch/test_autograd.py",
        "test_conditions_and_gradients_of_functions_of_tensors",
    ),
    "functional transforms": ("Higher derivatives", "torch/test_autograd.py", "test_func"),
    "memory": ("Memory", "torch/test_checkpoint.py", "test_half_of_the_memory"),
    "mixed precision": (
        "Mixed precision",
        "torch/test_around.py",
        "test_scaled_losses_skip_steps_with_infinities",
    ),
    "compilation": ("Compiled tensors", "torch/test_compile.py", "test_programs"),
    "classifier of the profiling example": (
        "Profiling",
        "torch/test_around.py",
        "test_the_classifier_of_the_profiling_example",
    ),
    "headline figures": (
        "Single numbers",
        "scalar/test_value.py",
        "test_a_pass_of_a_network_records_two_nodes_per_neuron",
    ),
    "profiling": ("Profiling", "torch/test_around.py", "test_a_profile_has_all_operations"),
}


@pytest.mark.parametrize("what", SHOWN)
def test_it_is_tested_and_explained(what: str) -> None:
    words, file, test = SHOWN[what]
    page = (ROOT / "docs/from_micrograd_and_pytorch.md").read_text(encoding="utf-8")
    assert re.search(rf"^(\*\*)?{re.escape(words)}\b|^(\*\*)?{re.escape(words)}[.:,`*]", page, re.M)
    source = (ROOT / "tests/autojit" / file).read_text(encoding="utf-8")
    assert f"\ndef {test}(" in source


@pytest.mark.parametrize("example", ["moons", "characters", "classifier", "four_ways"])
def test_examples_are_there(example: str) -> None:
    assert (ROOT / "examples" / f"{example}.py").is_file()
