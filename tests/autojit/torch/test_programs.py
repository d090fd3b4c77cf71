"""Programs of users run on ``autojit.torch`` as on PyTorch: values, gradients, words."""

import warnings

import numpy as np
import pytest

from autojit import torch

from . import more_programs, programs

pytorch = pytest.importorskip("torch")


def numbers(found):
    """What a program returned, as arrays and words."""
    if isinstance(found, (list, tuple)) and not hasattr(found, "detach"):
        return [x for part in found for x in numbers(part)]
    if hasattr(found, "detach"):
        return [(found.detach().numpy(), str(found.dtype).removeprefix("torch."))]
    return [found if isinstance(found, str) or found is None else np.asarray(found)]


@pytest.mark.sampled(14)
@pytest.mark.parametrize(
    "program", [*programs.PROGRAMS, *more_programs.PROGRAMS], ids=lambda f: f.__name__
)
def test_the_results_are_pytorchs(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = numbers(program(pytorch))
    got = numbers(program(torch))
    assert len(got) == len(want)
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        if isinstance(b, tuple):
            assert a[1] == b[1], f"dtype of result {k}"
            a, b = a[0], b[0]
        if isinstance(b, str) or b is None:
            assert a == b
            continue
        assert np.shape(a) == np.shape(b), f"result {k}"
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5, err_msg=f"result {k}")
