"""Library calls, run by the executor through stubs that check each argument, and by `jit`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import device_put, grad, jit, trace
from autojit.codegen.cuda import calling
from autojit.codegen.cuda.arrays import to_host
from autojit.codegen.cuda.calling import Calling
from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.device_program.text import print_device_program
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.libraries import cost
from autojit.codegen.cuda.libraries.finding import served_by
from autojit.codegen.cuda.libraries.prototypes import PROTOTYPES
from autojit.codegen.cuda.libraries.session import LibraryError
from autojit.codegen.loop_text.interpreter import shaped
from autojit.codegen.loop_text.memory import Memory
from autojit.errors import UnsupportedTargetError
from autojit.ir.tools.interpreter import interpret
from tests.codegen.cuda.driver.fake import Fake, installed
from tests.codegen.cuda.libraries.stubs import Stubs
from tests.codegen.cuda.running import SMALL, arguments_of, assert_same, mapped, run

pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')
RNG = np.random.default_rng(0)
ALL = replace(SMALL, libraries=frozenset(PROTOTYPES))


def turned(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _svd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    k = s.shape[-1]
    return u @ turned(u), vh @ turned(vh), (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]


def _reduced(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return s, (u * s[..., None, :]) @ vh


def _eigh(a: Any) -> Any:
    w, v = np.linalg.eigh(a @ turned(a), "U")
    return w, (v * w[..., None, :]) @ turned(v)


def _eig(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    k = np.arange(1, 7)
    return np.sum(w**2, -1), np.sum(w[..., None, :] * abs(v) ** 2 * k[:, None], -1) + 0 * a[..., 0]


def _positive(a: Any) -> Any:
    return a @ turned(a) + np.eye(a.shape[-1], dtype=a.dtype)


def _cholesky(a: Any) -> Any:
    return np.linalg.cholesky(_positive(a))


#: Functions of matrices, a shape, and the routines that they must call.
CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...], set[str]]] = {
    "product": (lambda a: a @ np.swapaxes(a, -1, -2) @ a, (20, 18), {"Gemm"}),
    "cholesky": (_cholesky, (9, 9), {"Potrf"}),
    "lu": (np.linalg.det, (7, 7), {"Getrf"}),
    "solve": (lambda a: np.linalg.solve(a, a[..., :2]), (7, 7), {"Getrf", "Getrs"}),
    "qr": (lambda a: np.linalg.qr(a, "complete"), (9, 6), {"Geqrf", "Orgqr"}),
    "eigh": (_eigh, (6, 6), {"Syevd"}),
    "eig": (lambda a: _eig(a), (6, 6), {"Geev"}),
    "svd tall": (_svd, (7, 4), {"Gesvd"}),
    "svd wide": (_svd, (4, 7), {"Gesvd"}),
    "svd reduced": (_reduced, (4, 7), {"Gesvd"}),
    "pinv": (lambda a: np.linalg.pinv(a), (18, 20), {"Gesvd", "Gemm"}),
    "fft": (lambda a: np.fft.fft(a, norm="ortho"), (4, 9), {"Transform"}),
    "fft of columns": (lambda a: np.fft.ifft(a, axis=-2), (4, 9), {"Transform"}),
}
REAL = {
    "rfft": (lambda a: (np.fft.rfft(a), np.fft.irfft(np.fft.rfft(a) * 1j, 9)), (4, 9)),
    "several axes": (lambda a: np.fft.irfftn(np.fft.rfftn(a.reshape(3, 4, 5)) * 1j), (12, 5)),
    "irfft even": (lambda a: np.fft.irfft(a[:, :5] * (1 + 1j), 8), (4, 9)),
    "gradient": (grad(lambda a: np.sum(np.sin(_cholesky(a)))), (18, 18)),
    "gradient of solve": (grad(lambda a: np.sum(np.sin(np.linalg.solve(a, a.T)))), (9, 9)),
    "tangent": (lambda a: _tangent(a), (10, 10)),
}  # fmt: skip


def _tangent(a: Any) -> Any:
    from autojit import jvp

    return jvp(_cholesky, (a,), (np.cos(a),))[1]


@pytest.fixture(autouse=True)
def _prefer_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost.Seconds, "prefers_library", True)


def drawn(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    real = RNG.normal(size=shape)
    return (real + 1j * RNG.normal(size=shape) if dtype[0] == "c" else real).astype(dtype)


class Checked:
    """Runs calls with :class:`Calling`, through the stubs, on the executor's memory."""

    def __init__(self, fake: Fake) -> None:
        self.fake = fake
        self.memory: Memory | None = None
        self.stubs = Stubs(self.allocated)
        self.stubs.capturing = fake.capturing

    def allocated(self, address: int, size: int) -> bool:
        arrays = [*self.fake._arrays.values()]
        if self.memory is not None:
            arrays += self.memory.arrays.values()
        return any(
            a.ctypes.data <= address and address + size <= a.ctypes.data + a.nbytes for a in arrays
        )

    def __call__(self, call: LibraryCall, memory: Memory) -> None:
        self.memory = memory
        slots = {b: k for k, b in enumerate(call.buffers)}
        with served_by(self.stubs):
            calling_ = Calling(card_of(), call, slots)
        try:
            calling_.run([memory.arrays[b].ctypes.data for b in slots])
        except LibraryError:
            raise (self.stubs.raised or [AssertionError("no reason")])[0] from None


@pytest.fixture
def checked() -> Iterator[Checked]:
    with installed(Fake()) as fake:
        yield Checked(fake)


def same(program: Any, arrays: list[Any], through: Any) -> list[LibraryCall]:
    device = mapped(program, ALL)
    assert print_device_program(device)
    want = interpret(program, arrays)
    assert_same(run(device, program, arrays), want)
    found = execute(device, arrays, call=through)
    assert_same([shaped(x, t) for x, t in zip(found, program.out_types, strict=True)], want)
    return [x for x in device.launches if isinstance(x, LibraryCall)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["one", "several"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", CASES)
def test_calls_by_reference_and_through_stubs(
    name: str, dtype: str, batch: tuple[int, ...], checked: Checked
) -> None:
    f, shape, routines = CASES[name]
    if name.startswith("fft") and dtype[0] != "c":
        dtype = {"f4": "c8", "f8": "c16"}[dtype]
    if name == "eig" and dtype in ("f4", "c8"):  # in double precision only
        dtype = {"f4": "f8", "c8": "c16"}[dtype]
    a = drawn(dtype, (*batch, *shape))
    program = trace(f)(a)
    calls = same(program, arguments_of(program, [a]), checked)
    assert routines <= {type(c.routine).__name__ for c in calls}
    assert all(part.access in ("r", "w", "rw") for c in calls for part in c.parts)


@pytest.mark.parametrize("name", REAL)
def test_calls_of_real_functions(name: str, checked: Checked) -> None:
    f, shape = REAL[name]
    a = drawn("f8", shape)
    program = trace(f)(a)
    assert same(program, arguments_of(program, [a]), checked)


@pytest.mark.parametrize(
    ("f", "is_fused"),
    [
        (lambda a, b: a @ a.T + b, True),
        (lambda a, b: b + a @ a.T, True),
        (lambda a, b: np.tanh(a @ a.T + b), False),
        (lambda a, b: a @ a.T + b[:, None], False),
        (lambda a, b: ((p := a @ a.T) + b, p * 2), False),
        (lambda a, b: a @ a.T - b, False),
        (lambda a, b: np.tanh(a @ a.T + b) @ a + a[0], True),
        (lambda a, b: (((a @ a.T + b) @ a @ a.T + b) @ a @ a.T + b) @ a, True),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_bias_is_added_by_the_product(
    f: Any, is_fused: bool, dtype: str, checked: Checked
) -> None:
    a, b = drawn(dtype, (20, 18)), drawn(dtype, (20,))
    program = trace(f)(a, b)
    calls = same(program, arguments_of(program, [a, b]), checked)
    assert any(c.routine.has_bias for c in calls) == is_fused  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_tf32_is_used_where_it_is_asked_for(
    dtype: str, checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stub refuses any other type of arithmetic, with and without the setting."""
    monkeypatch.setenv("AUTOJIT_TF32", "1")
    checked.stubs.expects_tf32 = True
    a = drawn(dtype, (20, 18))
    program = trace(lambda a: a @ a.T)(a)
    assert same(program, arguments_of(program, [a]), checked)


@pytest.mark.parametrize(
    ("f", "a", "words"),
    [
        (np.linalg.cholesky, -np.eye(9), "not positive definite"),
        (np.linalg.cholesky, np.full((9, 9), np.nan), "not positive definite"),
        (np.linalg.inv, np.ones((9, 9)), "Singular matrix"),
        (np.linalg.eigvalsh, np.full((9, 9), np.nan), "Eigenvalues did not converge"),
        (np.linalg.svd, np.full((9, 9), np.inf), "SVD did not converge"),
    ],
)  # fmt: skip
def test_what_fails_is_raised_as_numpy_raises_it(f: Any, a: Any, words: str) -> None:
    program = trace(f)(np.eye(9))
    device = mapped(program, ALL)
    assert any(isinstance(x, LibraryCall) for x in device.launches)
    with pytest.raises(np.linalg.LinAlgError, match=words):
        run(device, program, arguments_of(program, [a]))


def test_the_stubs_see_wrong_arguments(checked: Checked) -> None:
    """Too little memory, and a leading dimension that is too small."""
    a = drawn("f8", (20, 18))
    program = trace(lambda a: a @ a.T)(a)
    device = mapped(program, ALL)
    (call,) = device.launches
    assert isinstance(call, LibraryCall)
    good = call.routine
    call.routine = replace(good, a=replace(good.a, columns=99))  # type: ignore[type-var, attr-defined]
    with pytest.raises(AssertionError, match="are nobody's"):
        execute(device, [a], call=checked)
    call.routine = replace(good, b=replace(good.b, leading=1))  # type: ignore[type-var, attr-defined]
    with pytest.raises(AssertionError):
        execute(device, [a], call=checked)


# -- the runtime -----------------------------------------------------------------------


@pytest.fixture
def served(checked: Checked) -> Iterator[Checked]:
    with served_by(checked.stubs):
        yield checked


def test_a_product_is_one_call_on_the_stream_with_memory_of_the_pool(served: Checked) -> None:
    a = drawn("f4", (40, 30))
    f = jit(lambda a: a @ a.T)
    x = device_put(a)
    np.testing.assert_allclose(to_host([f(x)])[0], a @ a.T, 1e-5, 1e-5)
    assert not served.fake.launches
    served.stubs.calls.clear()
    with served.fake.counted() as counts:
        f(x)
    assert served.stubs.calls == ["cublasLtMatmul"]  # algorithms are kept
    assert not counts  # the memory comes from the pool


def test_launches_and_calls_keep_their_order(served: Checked) -> None:
    order: list[tuple[str, int]] = []
    served.stubs.watch = lambda name: order.append((name, len(served.fake.launches)))
    f = jit(lambda a: np.linalg.cholesky(a + np.eye(9)), device="cuda")
    served.stubs.failing.clear()
    f(np.eye(9))
    # Additions and copies come before the call, and the check of its info comes after it.
    assert [name for name, _ in order] == ["potrf"]
    assert 0 < order[0][1] < len(served.fake.launches)


def test_what_is_not_aligned_for_a_library_is_copied(served: Checked) -> None:
    big = device_put(drawn("f8", (2, 33)))
    f = jit(lambda a: np.fft.rfft(a[1]))
    np.testing.assert_allclose(to_host([f(big)])[0], np.fft.rfft(np.asarray(big)[1]))


def test_failures_of_a_library_name_the_function(served: Checked) -> None:
    served.stubs.failing["cublasLtMatmul"] = 13
    with pytest.raises(UnsupportedTargetError, match="cublasLtMatmul failed: execution failed"):
        jit(lambda a: a @ a.T, device="cuda")(np.ones((40, 30)))
    served.stubs.failing["cublasLtMatmul"] = 3
    with pytest.raises(MemoryError, match="cublasLtMatmul"):
        jit(lambda a: a @ a.T, device="cuda")(np.ones((40, 31)))


def test_handles_belong_to_a_stream(checked: Checked) -> None:
    card = card_of()
    stubs: Any = checked.stubs
    one = calling.session_of(card, stubs, card.stream)
    assert calling.session_of(card, stubs, card.stream) is one
    assert calling.session_of(card, stubs, 77) is not one


def test_products_and_transforms_become_parts_of_a_graph(served: Checked) -> None:
    """Kernels and library launches keep their order; cuSOLVER's handles are not captured."""

    def f(a: Any) -> Any:
        return np.fft.fft(np.tanh(a @ a.T @ a)).real * 2

    fast, x = jit(f), device_put(drawn("f8", (24, 20)))
    for _ in range(6):
        fast(x)
    served.stubs.calls.clear()
    launched = len(served.fake.launches)
    with served.fake.counted() as counts:
        fast(x)
    assert counts.pop("cuGraphLaunch") == 1
    assert not counts
    assert not served.stubs.calls
    assert len(served.fake.launches) > launched
    product = jit(lambda a: (a @ a.T) @ (a @ a.T) @ a)
    for _ in range(6):
        found = product(x)
    a = np.asarray(x)
    np.testing.assert_allclose(to_host([found])[0], (a @ a.T) @ (a @ a.T) @ a)


def test_a_library_that_refuses_to_be_captured_is_called_instead(served: Checked) -> None:
    f, x = jit(lambda a: (a @ a.T) @ (a @ a.T) @ a), device_put(drawn("f8", (24, 20)))
    f(x)
    served.stubs.refuses = True
    for _ in range(5):
        found = f(x)
    a = np.asarray(x)
    np.testing.assert_allclose(to_host([found])[0], (a @ a.T) @ (a @ a.T) @ a)
