"""Which threads run which iterations, by total work and by memory layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import fori_loop, grad, scan, trace, vmap
from autojit.codegen.cuda.device_program.nodes import DeviceKernel, Share
from autojit.codegen.cuda.device_program.text import print_device_program
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.simulator import SIMULATED
from autojit.codegen.loop_ir.traversal import with_bodies
from tests.codegen.cuda.kernel_programs import PROGRAMS, arguments, normalized, softmax
from tests.codegen.cuda.running import SMALL, arguments_of, check, mapped, run

CARD = Machine()


def ones(*shape: int) -> Any:
    return np.broadcast_to(np.float64(1), shape)


def launches(f: Callable[..., Any], *arrays: Any) -> list[tuple[int, int, str]]:
    found = mapped(trace(f)(*arrays), CARD).launches
    return [(k.grid, k.threads, k.doc) for k in found]


def steps(y: Any) -> Any:
    return scan(lambda c, _: (np.sin(c) + 0.1 * c, np.sum(c)), y, None, length=9)


#: Programs with the grid, the threads per block and the words of each launch.
CLASSES: dict[str, tuple[Any, list[tuple[int, int, str]]]] = {
    "few elements": (
        (np.exp, ones(1000)), [(4, 256, "A thread for each of 1000 elements.")]
    ),
    "many elements": (
        (np.exp, ones(10**8)), [(864, 256, "A thread for each 2 of 100000000 elements.")]
    ),
    "short rows": (
        (lambda x: np.sum(x, 1), ones(10**6, 10)),
        [(864, 256, "4 threads for each of 1000000 rows.")],
    ),
    "rows": (
        (lambda x: np.sum(x, 1), ones(10**5, 500)),
        [(864, 256, "32 threads for each of 100000 rows.")],
    ),
    "long rows": (
        (lambda x: np.sum(x, 1), ones(1000, 10**5)),
        [(864, 256, "256 threads for each of 1000 rows.")],
    ),
    "few long rows": (
        (lambda x: np.sum(x, 1), ones(4, 10**6)),
        [
            (864, 256, "216 blocks for each of 4 rows."),
            (1, 256, "What the blocks have left for each of 4 is combined."),
        ],
    ),
    "few long rows of several loops": (
        (softmax, ones(4, 10**6)),
        [
            (864, 256, "216 blocks for each of 4 rows."),
            (1, 256, "What the blocks have left for each of 4 is combined."),
            (864, 256, "216 blocks for each of 4 rows."),
            (1, 256, "What the blocks have left for each of 4 is combined."),
            (864, 256, "A thread for each 2 of 4000000 elements."),
        ],
    ),
    "columns": (
        (lambda x: np.sum(x, 0), ones(10**5, 1000)),
        [
            (864, 256, "27 blocks for each 32 of 1000 columns."),
            (4, 256, "What the blocks have left for each of 1000 is combined."),
        ],
    ),
    "a product with a transpose": (
        (lambda x, v: x.T @ v, ones(10**5, 64), ones(10**5)),
        [
            (864, 256, "432 blocks for each 32 of 64 columns."),
            (64, 256, "What the blocks have left for each of 64 is combined."),
        ],
    ),
    "very many columns": (
        (lambda x: np.sum(x, 0), ones(100, 10**6)),
        [(864, 256, "A thread for each of 1000000 elements.")],
    ),
    "few numbers": ((np.sum, ones(2000)), [(1, 256, "One block reduces.")]),
    "many numbers": (
        (np.sum, ones(10**7)),
        [
            (864, 256, "Each block reduces its share."),
            (1, 256, "One block reduces what the blocks have left."),
        ],
    ),
    "the sum of a matrix-vector product": (
        (lambda a, x: np.sum(a @ x), ones(1000, 1000), ones(1000)),
        [
            (864, 256, "Each block reduces its share."),
            (1, 256, "One block reduces what the blocks have left."),
        ],
    ),
    "a carry of one number": (
        (lambda x: fori_loop(0, 1000, lambda i, c: np.sin(c), x), 1.0),
        [(1, 1, "One thread does everything.")],
    ),
    "a long sum so far": (
        (np.cumsum, ones(10**7)),
        [
            (850, 256, "Each block combines 11776 of 10000000 elements."),
            (1, 1, "What precedes each of 850 parts."),
            (850, 256, "A thread for each of 256 elements at a time, 46 times."),
        ],
    ),
    "a carry of many": (
        (lambda x: fori_loop(0, 9, lambda i, c: np.sin(c[::-1]), x), ones(8000)),
        [(1, 256, "One block does everything.")],
    ),
    "a carry of very many": (
        (lambda x: fori_loop(0, 9, lambda i, c: np.sin(c[::-1]), x), ones(10_000)),
        [
            (1, 256, "A thread for each of 1 elements."),
            (40, 256, "All blocks do everything together."),
        ],
    ),
    "steps for each of many": (
        (lambda x: vmap(steps)(x)[0], ones(10**5, 3)),
        [(391, 256, "A thread for each of 100000 elements, with steps in turn.")],
    ),
    "many small matrices": (
        (np.linalg.cholesky, ones(10**5, 3, 3)),
        [(391, 256, "A thread for each of 100000 matrices.")],
    ),
    "few large matrices": (
        (np.linalg.cholesky, ones(20, 100, 100)),
        [(20, 128, "A block for each of 20 matrices.")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    (f, *arrays), wanted = CLASSES[name]
    assert launches(f, *arrays) == wanted


def test_every_class_occurs_in_the_simulator() -> None:
    """The test would mean little if the simulated card used one mapping for all programs."""
    found = set()
    for f, shapes, _ in PROGRAMS.values():
        for kernel in mapped(trace(f)(*arguments(shapes)), SIMULATED).launches:
            found.add(" ".join(w for w in kernel.doc.split() if not w.isdigit()))
    assert found >= {
        "A thread for each of elements.", "threads for each of rows.", "One block reduces.",
        "blocks for each of columns.", "blocks for each of rows.", "Each block reduces its share.",
        "What the blocks have left for each of is combined.",
        "One block reduces what the blocks have left.", "One block does everything.",
        "One thread does everything.", "A thread for each of elements, with steps in turn.",
        "Each block combines of elements.", "What precedes each of parts.",
        "A block for each of matrices.",
    }  # fmt: skip


RNG = np.random.default_rng(0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(3, 50), (50, 3), (2, 200), (40, 40), (1, 7), (300, 2)])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("reduce", [np.sum, np.max, np.prod], ids=lambda f: f.__name__)
def test_reductions_of_any_shape(reduce: Any, axis: Any, shape: tuple[int, ...]) -> None:
    x = RNG.uniform(0.9, 1.1, shape)
    check(trace(lambda x: reduce(x, axis=axis))(x), [x])
    check(trace(lambda x: x - reduce(x, axis=axis, keepdims=True))(x), [x])


@pytest.mark.parametrize("f", [softmax, normalized], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(1, 300), (2, 200), (30, 40)])
def test_rows_of_several_reductions(f: Any, shape: tuple[int, ...]) -> None:
    x = RNG.uniform(0.9, 1.1, shape)
    check(trace(f)(x), [x])
    check(trace(grad(lambda x: np.sum(f(x) ** 3)))(x), [x])


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2), (0, 1, 2), 1])
def test_reductions_over_several_axes(axes: Any) -> None:
    x = RNG.uniform(0.9, 1.1, (5, 12, 9))
    check(trace(lambda x: (np.sum(x, axes), np.max(x * 2, axes)))(x), [x])


def test_sums_have_one_order() -> None:
    """The blocks' values are added in the order of their numbers, so all runs give equal bits."""
    x = RNG.normal(size=(50, 40)).astype("f4")
    program = trace(lambda x: (np.sum(x), np.sum(x, 0), np.sum(x, 1)))(x)
    device, arrays = mapped(program), arguments_of(program, [x])
    first, second = (run(device, program, arrays) for _ in range(2))
    assert [a.tobytes() for a in first] == [b.tobytes() for b in second]
    assert "atomic" not in print_device_program(device)


def both(x: Any) -> Any:
    return scan(lambda c, r: (c * r + np.sum(c), c[0]), x[0], x)


#: Sequential loops, small and large, with and without independent elements.
LOOPS: dict[str, Callable[..., Any]] = {
    "rows in turn": both,
    "gradient": grad(lambda x: np.sum(both(x)[0] ** 2)),
    "for each": lambda x: vmap(steps)(x),
    "for each by columns": lambda x: vmap(steps, 1)(x),
    "gradients of each": lambda x: vmap(grad(lambda y: np.sum(steps(y)[0])))(x),
    "gradient of all": grad(lambda x: np.sum(vmap(steps)(x)[1] ** 2)),
    "cumulative sums": lambda x: (np.cumsum(x, 0), np.cumsum(x, 1), np.cumsum(x)),
    "cumulative products": grad(lambda x: np.sum(np.cumprod(x, 1) ** 2)),
    "cumulative maxima": lambda x: np.maximum.accumulate(x, 0),
}


@pytest.mark.parametrize("machine", [SMALL, CARD], ids=["small", "large"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_in_turn(name: str, machine: Machine) -> None:
    x = RNG.uniform(0.5, 1, (12, 5))
    check(trace(LOOPS[name])(x), [x], machine)


PREFIXES: dict[str, tuple[Callable[..., Any], str, int]] = {
    "sums": (np.cumsum, "f8", 3),
    "sums of complex numbers": (np.cumsum, "c16", 3),
    "sums of integers": (lambda x: np.cumsum(x * 3), "i4", 4),
    "products of integers": (np.cumprod, "i8", 3),
    "maxima": (np.maximum.accumulate, "f4", 4),
    "a gradient": (grad(lambda x: np.sum(np.cumsum(x) ** 2)), "f8", 7),
    "products": (np.cumprod, "f8", 1),
}


@pytest.mark.parametrize("n", [3, 50, 131])
@pytest.mark.parametrize("name", PREFIXES)
def test_prefixes_are_for_all_blocks(name: str, n: int) -> None:
    """Three launches. Prefix products of floats stay sequential: 0, 1e300, 1e300 has no NaN."""
    f, dtype, count = PREFIXES[name]
    x = (RNG.uniform(-3, 3, n) * (1 + (1j if dtype[0] == "c" else 0))).astype(dtype)
    device = check(trace(f)(x), [x])
    if n > 7:
        assert len(device.launches) == count


def test_elements_that_meet_are_not_one_threads_own() -> None:
    """Each step reads a neighbour of the step before: a thread waits for others."""

    def shifted(x: Any) -> Any:
        return fori_loop(0, 5, lambda i, c: np.roll(c, 1) + c, x)

    x = RNG.uniform(size=40)
    for machine, doc in (
        (SMALL, "All blocks do everything together."),
        (SIMULATED, "One block does everything."),
    ):
        assert check(trace(shifted)(x), [x], machine).launches[-1].doc == doc


def with_grid(kernel: DeviceKernel, grid: int) -> DeviceKernel:
    """The kernel for fewer blocks: the steps of its loops change accordingly."""

    def changed(s: Any) -> Any:
        if isinstance(s, Share) and (stride := kernel.stride(s)) is not None:
            s = replace(s, step=stride * grid)
        return with_bodies(s, lambda body: [changed(x) for x in body])

    body = [changed(s) for s in kernel.body]
    return replace(kernel, grid=grid, block=kernel.block, body=body)


@pytest.mark.parametrize(
    ("f", "shapes", "elastic"),
    [
        (lambda x: np.exp(x) * x, [(103,)], [True]),
        (lambda x, y: x * y, [(10, 15), (15,)], [True]),
        (softmax, [(40, 9)], [True]),
        (lambda x: x.T + 0, [(37, 41)], [False]),  # tiles
        (lambda x: np.sum(x * x), [(103,)], [False, False]),  # each block leaves a value
        (lambda x: x * 2, [(20,)], [False]),  # one step each
        (lambda x: np.linalg.cholesky(x @ x.transpose(0, 2, 1)), [(60, 2, 2)], None),
    ],
)
def test_fewer_blocks_do_the_same(f: Any, shapes: Any, elastic: list[bool] | None) -> None:
    rng = np.random.default_rng(0)
    given = [rng.uniform(1, 2, shape) for shape in shapes]
    device = mapped(trace(f)(*given))
    kernels = [k for k in device.launches if isinstance(k, DeviceKernel)]
    found = [k.is_elastic for k in kernels]
    assert any(found) if elastic is None else found == elastic
    wanted = execute(device, given)
    for grid in (1, 3):
        device.launches = [with_grid(k, grid) if k.is_elastic else k for k in kernels]
        for got, want in zip(execute(device, given), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
