"""Several cards, arrays of other libraries on them, streams, and no card at all.

The driver is a fake that records its calls; no kernel runs.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import autojit
from autojit import device_get, device_put, grad, jit, pure_callback
from autojit.codegen.cuda import dlpack
from autojit.codegen.cuda.arrays import DeviceArray
from autojit.codegen.cuda.driver.cards import card
from autojit.errors import MixedDevicesError, UnsupportedTargetError
from tests.codegen.cuda.driver.fake import Fake, installed

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
ROOT = Path(__file__).resolve().parents[3]
X = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with installed(Fake(cards=2)) as made:
        yield made


# -- one program, one device ------------------------------------------------------------


def test_arguments_on_different_cards_are_an_error(fake: Fake) -> None:
    x, y = device_put(X), device_put(X, "cuda:1")
    words = "argument 0 lies on 'cuda:0', and argument 1 lies on 'cuda:1'"
    for f in (lambda x, y: x + y, jit(lambda x, y: x + y), grad(lambda x: np.sum(x * y))):
        with pytest.raises(MixedDevicesError) as caught:
            f(x, y) if f is not None and not hasattr(f, "made_of") else f(x)
        assert "'cuda:0'" in str(caught.value)
        assert "'cuda:1'" in str(caught.value)
        assert "autojit.device_put(x, " in str(caught.value)
    with pytest.raises(MixedDevicesError, match=words):
        jit(lambda x, y: x + y)(x, y)
    moved = jit(lambda x, y: x + y)(x, device_put(y, "cuda:0"))
    assert moved.device == "cuda:0"


def test_a_program_runs_on_the_card_of_its_arguments(fake: Fake) -> None:
    f = jit(lambda x: np.sin(x) * 2, device="cuda")
    for device in ("cuda:0", "cuda:1"):
        assert f(device_put(X, device)).device == device
        assert grad(lambda x: np.sum(f(x)))(device_put(X, device)).device == device
    assert card(1).ordinal == 1
    second = jit(lambda x: x + 1, device="cuda:1")
    assert isinstance(second(X), np.ndarray)
    assert repr(second).count("cuda:1")
    with pytest.raises(MixedDevicesError, match="device='cuda:1'"):
        second(device_put(X))


@pytest.mark.parametrize("outer", ["cpu", "cuda"])
def test_functions_for_different_devices_are_an_error_at_the_inner_call(outer: str) -> None:
    inner = {"cpu": "cuda", "cuda": "cpu"}[outer]

    def g(x: Any) -> Any:
        return x * 2

    compiled = jit(g, device=inner)

    def f(x: Any) -> Any:
        return compiled(x) + 1  # here

    line = f.__code__.co_firstlineno + 1
    for call in (jit(f, device=outer), jit(grad(lambda x: np.sum(f(x))), device=outer)):
        with pytest.raises(MixedDevicesError) as caught:
            call(X)
        words = str(caught.value)
        assert f"device={outer!r})" in words
        assert f"jit(g, device={inner!r})" in words
        assert f"line {line}, in f" in words
        assert "@jit" in words


def test_siblings_for_different_devices_are_an_error_in_one_program() -> None:
    here, there = jit(np.sin, device="cpu"), jit(np.cos, device="cuda")
    with pytest.raises(MixedDevicesError):
        jit(lambda x: here(x) + there(x))(X)
    with pytest.raises(MixedDevicesError):
        grad(lambda x: np.sum(here(x) * there(x)))(X)


def test_a_function_for_the_cpu_refuses_arrays_on_a_gpu(fake: Fake) -> None:
    x = device_put(X)
    with pytest.raises(MixedDevicesError, match=r"argument 0\['w'\] lies on 'cuda:0'") as caught:
        jit(lambda p: p["w"] * 2, device="cpu")({"w": x})
    assert "autojit.device_get(x)" in str(caught.value)
    with pytest.raises(MixedDevicesError, match="an array that the function uses"):
        jit(lambda y: y * x, device="cpu")(X)


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda x, y: np.add(x, x, out=y), "np.add(x, x)"),
        (lambda x, y: np.multiply(x, 2.0, out=X), "np.multiply(x, 2.0)"),
        (lambda x, y: np.add(x, y, where=x > 1, out=y), "np.where(z, np.add(x, y), out)"),
        (lambda x, y: np.add.reduce(x, axis=0, out=y), "np.add.reduce(x, axis=0)"),
        (lambda x, y: np.concatenate([x, y], 1, out=X), "np.concatenate([x, y], 1)"),
        (lambda x, y: x.dot(y, out=X), "x.dot(y)"),
    ],
)
def test_an_output_argument_is_refused_with_the_call_without_it(
    call: Callable[[Any, Any], Any], fix: str, fake: Fake
) -> None:
    with pytest.raises(TypeError, match="those on a GPU are never changed in place") as caught:
        call(device_put(X), device_put(X))
    assert str(caught.value).endswith(f"\n    out = {fix}")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.jv(1.0, x) + 1,
        lambda x: pure_callback(np.sort, x, x) + 1,
    ],
)
def test_functions_of_the_cpu_are_refused_with_the_line_and_a_fix(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedTargetError, match="Compute it on the CPU") as caught:
        jit(f, device="cuda").lower(X).text("cuda")
    message, _, place = str(caught.value).partition("\n\n")
    assert f"line {f.__code__.co_firstlineno}, in <lambda>" in place
    (fix,) = [line.strip() for line in message.splitlines() if line.startswith("    ")]
    names = {"autojit": autojit, "f": f, "x": X}
    exec(fix, names)
    np.testing.assert_array_equal(names["y"], f(X))


def test_branches_and_loops_carry_the_device() -> None:
    from autojit import fori_loop

    compiled = jit(lambda x: x * 2, device="cuda")

    def branch(x: Any) -> Any:
        if np.sum(x) > 0:
            x = compiled(x)
        return x

    def loop(x: Any) -> Any:
        return fori_loop(0, 1000, lambda i, x: compiled(x) - 1, x)

    for f in (branch, loop):
        with pytest.raises(MixedDevicesError):
            jit(f, device="cpu")(X)


# -- arrays of other libraries ----------------------------------------------------------


class Foreign:
    """An array on a card as CuPy, PyTorch and JAX describe theirs."""

    def __init__(self, fake: Fake, array: np.ndarray, device: int = 0, **more: Any) -> None:
        self.array = array
        fake.foreign[array.ctypes.data] = device
        self.described = {
            "shape": array.shape, "typestr": array.dtype.str, "strides": None,
            "data": (array.ctypes.data, False), "version": 3, **more,
        }  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.described


def test_arrays_of_other_libraries_are_not_copied(fake: Fake) -> None:
    x = Foreign(fake, X.copy())
    f = jit(lambda x: x * 2)
    f(x)
    with fake.counted() as counts:
        result = f(x)
    assert isinstance(result, DeviceArray)
    assert x.array.ctypes.data in fake.launches[-1].passed
    assert not any(name.startswith("cuMemcpy") for name in counts)
    assert device_put(x).pointer == x.array.ctypes.data
    np.testing.assert_array_equal(device_get({"x": x})["x"], X)
    assert isinstance(grad(lambda x: np.sum(x * x))(x), DeviceArray)


def test_closed_over_arrays_of_other_libraries_are_kept_as_they_were(fake: Fake) -> None:
    x = Foreign(fake, X.copy())
    f = jit(lambda y: y * x)
    f(X)
    assert fake.counts["cuMemcpyDtoDAsync_v2"] == 1
    x.array[:] = -1
    f(X)
    held = [
        (ctypes.c_double * 12).from_address(p)
        for p, b in zip(fake.launches[-1].passed, fake.launches[-1].kernel.buffers, strict=True)
        if b.size == 12
    ]
    assert any(np.array_equal(np.array(h).reshape(3, 4), X) for h in held)


def test_work_comes_after_the_producer_and_before_its_next(fake: Fake) -> None:
    x = Foreign(fake, X.copy(), stream=77)
    f = jit(lambda x: x * 2)
    f(x)
    fake.order.clear()
    f(x)
    (r0, e0, s0), (w0, f0, t0), (r1, e1, s1), (w1, f1, t1) = fake.order
    assert (r0, s0, w0, t0) == ("record", 77, "wait", 1)
    assert (r1, s1, w1, t1) == ("record", 1, "wait", 77)
    assert (e0, e1) == (f0, f1)


def test_arrays_that_are_not_contiguous_are_copied_by_a_kernel(fake: Fake) -> None:
    x = Foreign(fake, X.copy(), strides=(8, 32), shape=(4, 3), stream=77)
    f = jit(lambda x: x * 2)
    f(x)
    before = len(fake.launches)
    fake.order.clear()
    with fake.counted() as counts:
        assert f(x).shape == (4, 3)
    copy, call = fake.launches[before:]
    assert copy.passed[0] == x.array.ctypes.data
    assert copy.passed[1] == call.passed[0]  # the kernel reads the copy
    assert counts["cuModuleLoadData"] == 0
    assert [word for word, _, _ in fake.order] == ["record", "wait"] * 2
    backwards = Foreign(fake, X.copy(), strides=(32, -8), data=(x.array.ctypes.data + 24, False))
    f(backwards)
    assert fake.launches[-2].passed[0] == x.array.ctypes.data
    fine = Foreign(fake, X.copy(), strides=(32, 8))
    before = len(fake.launches)
    assert f(fine).shape == (3, 4)
    assert len(fake.launches) == before + 1
    odd = Foreign(fake, X.copy(), strides=(33, 8))
    with pytest.raises(
        UnsupportedTargetError, match=r"multiples of their size.*\n.*contiguous\(\)"
    ):
        f(odd)


def test_arrays_that_begin_within_an_element_are_not_read_at_once(fake: Fake) -> None:
    """A kernel reads a complex number's parts in one load, aligned to the number's size."""
    memory = np.zeros(26)
    offset = 1 if memory.ctypes.data % 16 == 0 else 0
    z = Foreign(fake, memory[offset : offset + 24].view(complex))
    f = jit(lambda z: z * 2)
    f(z)
    copy, call = fake.launches[-2:]
    assert copy.passed[0] == z.array.ctypes.data
    assert copy.passed[1] == call.passed[0]
    assert call.passed[0] % 16 == 0
    odd = Foreign(fake, X.copy(), data=(z.array.ctypes.data + 4, False))
    with pytest.raises(UnsupportedTargetError, match="multiples of their size"):
        f(odd)


def test_neighbours_are_read_at_once_from_multiples_of_16_bytes_alone(fake: Fake) -> None:
    """PyTorch's ``x[1:]`` is not copied: a kernel compiled at its first call reads it."""
    memory = np.zeros(300_002, np.float32)
    start = -memory.ctypes.data % 16 // 4
    even, odd = (Foreign(fake, memory[n : n + 300_000]) for n in (start, start + 1))
    f = jit(lambda x, y: x + y)
    aligned = []
    for x, y in ((even, even), (even, odd), (odd, even), (even, even), (even, odd)):
        before = len(fake.launches)
        f(x, y)
        (launched,) = fake.launches[before:]
        assert launched.passed[:2] == [x.array.ctypes.data, y.array.ctypes.data]
        aligned.append([b.aligned for b in launched.kernel.buffers])
    assert aligned == [[16, 16, 16], [4, 4, 16], [4, 4, 16], [16, 16, 16], [4, 4, 16]]
    assert fake.counts["cuModuleLoadData"] == 2
    captured = device_put(odd)  # in its memory, or a copy
    jit(lambda y: captured + y)(even)
    (_, *passed), kernel = sorted(fake.launches[-1].passed), fake.launches[-1].kernel
    is_odd = any(p % 16 for p in passed)
    assert {b.aligned for b in kernel.buffers} == ({4, 16} if is_odd else {16})


def test_failures_of_arrays_of_other_libraries_name_the_line(fake: Fake) -> None:
    x, places = Foreign(fake, X.copy()), Foreign(fake, np.array([0, 9]))
    f = jit(lambda x, i: x[i])
    result = f(x, places)
    (flags,) = card().failures.pending
    flags._values[0] = 1
    with pytest.raises(IndexError, match="out of bounds"):
        np.asarray(result)


def test_arrays_of_other_libraries_know_their_card(fake: Fake) -> None:
    assert jit(lambda x: x * 2)(Foreign(fake, X.copy(), device=1)).device == "cuda:1"


def test_ours_describe_themselves(fake: Fake) -> None:
    x = device_put(X)
    assert x.__cuda_array_interface__ == {
        "shape": (3, 4), "typestr": "<f8", "data": (x.pointer, False), "strides": None,
        "stream": 1, "version": 3,
    }  # fmt: skip
    assert x.__dlpack_device__() == (2, 0)
    assert device_put(X, "cuda:1").__dlpack_device__() == (2, 1)
    fake.order.clear()
    x.__dlpack__(stream=77)
    assert [(word, stream) for word, _, stream in fake.order] == [("record", 1), ("wait", 77)]
    fake.order.clear()
    for stream in (None, 1, -1):
        x.__dlpack__(stream=stream)
    assert not fake.order


def test_a_consumer_that_refuses_an_array_says_why(fake: Fake) -> None:
    """It destroys the capsule while its exception is set."""
    x, held = device_put(X), len(dlpack._exported)
    with pytest.raises((RuntimeError, BufferError), match=r"[Dd]evice"):
        np.from_dlpack(x)
    assert len(dlpack._exported) == held
    capsule = x.__dlpack__()
    assert len(dlpack._exported) == held + 1
    del capsule
    assert len(dlpack._exported) == held


def test_launches_go_to_the_stream_that_is_asked_for(fake: Fake) -> None:
    f, x = jit(lambda x: x * 2), device_put(X)
    f(x)
    with card().on(77):
        f(x)
        assert fake.launches[-1].stream == 77
        assert x.__cuda_array_interface__["stream"] == 77
    f(x)
    assert fake.launches[-1].stream == 1
    assert [s for word, _, s in fake.order if word == "wait"] == [77, 1]


# -- no card ----------------------------------------------------------------------------


def test_a_card_that_is_not_there_is_named(fake: Fake) -> None:
    for call in (lambda: device_put(X, "cuda:2"), lambda: jit(np.sin, device="cuda:2")(X)):
        with pytest.raises(UnsupportedTargetError, match='no device "cuda:2": this machine has 2'):
            call()
    with pytest.raises(UnsupportedTargetError, match="device must be 'cpu' or 'cuda'"):
        device_put(X, "gpu")


def test_without_a_card_errors_say_so() -> None:
    code = """
import numpy as np
from autojit import device_get, device_put, grad, jit
from autojit.errors import UnsupportedTargetError
f = jit(np.sin, device="cuda")
for call in (lambda: device_put(np.ones(3)), lambda: f(np.ones(3)),
             lambda: grad(lambda x: np.sum(f(x)))(np.ones(3))):
    try:
        call()
    except UnsupportedTargetError as error:
        assert "needs an NVIDIA GPU" in str(error), error
        assert "NUMBA_ENABLE_CUDASIM=1" in str(error), error
    else:
        raise SystemExit("no error")
assert device_get({"x": 1}) == {"x": 1}
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**environment, "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
