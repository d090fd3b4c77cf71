"""NPBench's small applications: parts of neural networks, bodies in orbit, elementwise formulas.

The texts are NPBench's for NumPy, with whole arrays instead of loops over the places of an array.
The sum of a softmax is constant, so its loss is the sum of squares.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit
from bench.workloads import npbench_dace as dace
from bench.workloads.loops import UNROLLED, scan_of
from bench.workloads.npbench import kernel, same_text, uniform


def stable_softmax(np: Any, x: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def softmax(np: Any, special: Any) -> Function:
    return lambda x: np.sum(stable_softmax(np, x) ** 2)


def jax_softmax(jax: Any) -> Function:
    return lambda x: jax.numpy.sum(jax.nn.softmax(x, axis=-1) ** 2)


def torch_softmax(torch: Any) -> Function:
    return lambda x: torch.sum(torch.softmax(x, dim=-1) ** 2)


def softmax_back(np: Any, share: Any) -> Any:
    """The cotangent of the logits, from the probabilities."""
    return 2.0 * share * (share - np.sum(share**2, axis=-1, keepdims=True))


def softmax_gradient(np: Any) -> Function:
    return lambda x: softmax_back(np, stable_softmax(np, x))


def mlp(np: Any, special: Any) -> Function:
    def loss(w1, b1, w2, b2, w3, b3, x):
        x = np.maximum(x @ w1 + b1, 0.0)
        x = np.maximum(x @ w2 + b2, 0.0)
        return np.sum(stable_softmax(np, x @ w3 + b3) ** 2)

    return loss


def jax_mlp(jax: Any) -> Function:
    def loss(w1, b1, w2, b2, w3, b3, x):
        x = jax.nn.relu(x @ w1 + b1)
        x = jax.nn.relu(x @ w2 + b2)
        return jax.numpy.sum(jax.nn.softmax(x @ w3 + b3) ** 2)

    return loss


def torch_mlp(torch: Any) -> Function:
    def loss(w1, b1, w2, b2, w3, b3, x):
        x = torch.relu(torch.addmm(b1, x, w1))
        x = torch.relu(torch.addmm(b2, x, w2))
        return torch.sum(torch.softmax(torch.addmm(b3, x, w3), dim=-1) ** 2)

    return loss


def mlp_gradient(np: Any) -> Function:
    def gradient(w1, b1, w2, b2, w3, b3, x):
        first = np.maximum(x @ w1 + b1, 0.0)
        second = np.maximum(first @ w2 + b2, 0.0)
        back = softmax_back(np, stable_softmax(np, second @ w3 + b3))
        back = (back @ w3.T) * (second > 0.0)
        back = (back @ w2.T) * (first > 0.0)
        return x.T @ back

    return gradient


def mlp_inputs() -> Arrays:
    """Weights with He's variance: NPBench's weights are all positive and give a one-hot softmax."""
    rng = numpy.random.default_rng(0)
    parameters: list[numpy.ndarray] = []
    for rows, columns in pairwise(WIDTHS):
        bound = (6.0 / rows) ** 0.5
        parameters.append(rng.uniform(-bound, bound, (rows, columns)))
        parameters.append(rng.uniform(0.0, 0.1, columns))
    return *parameters, rng.uniform(0.0, 1.0, (BATCH, WIDTHS[0]))


def conv2d(np: Any, special: Any) -> Function:
    """A matrix product for each place of the window."""

    def loss(images, weights, bias):
        size = weights.shape[0]
        height, width = images.shape[1] - size + 1, images.shape[2] - size + 1
        result = bias
        for i in range(size):
            for j in range(size):
                result = result + images[:, i : i + height, j : j + width, :] @ weights[i, j]
        return np.sum(result)

    return loss


def jax_conv2d(jax: Any) -> Function:
    def loss(images, weights, bias):
        layout = ("NHWC", "HWIO", "NHWC")
        found = jax.lax.conv_general_dilated(
            images, weights, (1, 1), "VALID", dimension_numbers=layout
        )
        return jax.numpy.sum(found + bias)

    return loss


def torch_conv2d(torch: Any) -> Function:
    def loss(images, weights, bias):
        images, weights = images.permute(0, 3, 1, 2), weights.permute(3, 2, 0, 1)
        return torch.sum(torch.nn.functional.conv2d(images, weights, bias))

    return loss


def conv2d_gradient(np: Any) -> Function:
    def gradient(images, weights, bias):
        size = weights.shape[0]
        height, width = images.shape[1] - size + 1, images.shape[2] - size + 1
        back = np.zeros_like(images)
        for i in range(size):
            for j in range(size):
                back[:, i : i + height, j : j + width, :] += weights[i, j].sum(axis=1)
        return back

    return gradient


def nbody(np: Any, scan: Function, pairs: Any) -> Function:
    """Leapfrog steps of bodies with softened gravity; the energies after each of them."""
    first, second = pairs

    def accelerations(position, mass):
        apart = position[None, :, :] - position[:, None, :]
        weight = (np.sum(apart**2, axis=2) + SOFTENING**2) ** -1.5 * mass[:, 0]
        return GRAVITY * np.sum(weight[:, :, None] * apart, axis=1)

    def energies(position, velocity, mass):
        distance = np.sqrt(np.sum((position[second] - position[first]) ** 2, axis=1))
        potential = -GRAVITY * np.sum(mass[first, 0] * mass[second, 0] / distance)
        return 0.5 * np.sum(mass * velocity**2), potential

    def loss(position, velocity, mass):
        def step(state, _):
            position, velocity, acceleration = state
            velocity = velocity + acceleration * DT / 2.0
            position = position + velocity * DT
            acceleration = accelerations(position, mass)
            velocity = velocity + acceleration * DT / 2.0
            return (position, velocity, acceleration), energies(position, velocity, mass)

        velocity = velocity - np.mean(mass * velocity, axis=0) / np.mean(mass)
        start = (position, velocity, accelerations(position, mass))
        _, (kinetic, potential) = scan(step, start, length=STEPS)
        return sum(energies(position, velocity, mass)) + np.sum(kinetic) + np.sum(potential)

    return loss


def numpy_nbody(np: Any, special: Any) -> Function:
    return nbody(np, scan_of(np), numpy.triu_indices(BODIES, 1))


def torch_nbody(torch: Any) -> Function:
    return nbody(torch, scan_of(torch), torch.triu_indices(BODIES, BODIES, 1))


def nbody_gradient(np: Any) -> Function:
    """Leapfrog backwards, with the pullback of the accelerations to the positions."""

    def forces(position, mass):
        apart = position[None, :, :] - position[:, None, :]
        return apart, np.sum(apart**2, axis=2) + SOFTENING**2

    def accelerations(position, mass):
        apart, square = forces(position, mass)
        return GRAVITY * np.sum((square**-1.5 * mass[:, 0])[:, :, None] * apart, axis=1)

    def pull(position, mass, back):
        apart, square = forces(position, mass)
        along = np.sum(back[:, None, :] * apart, axis=2)
        by_apart = square[:, :, None] ** -1.5 * back[:, None, :]
        by_apart -= (3.0 * square**-2.5 * along)[:, :, None] * apart
        by_apart *= GRAVITY * mass[None]
        return by_apart.sum(axis=0) - by_apart.sum(axis=1)

    def potential_slope(position, mass):
        apart = position[None, :, :] - position[:, None, :]
        cube = np.sum(apart**2, axis=2) ** 1.5 + np.eye(BODIES)
        return -GRAVITY * mass * np.sum((mass[:, 0] / cube)[:, :, None] * apart, axis=1)

    def gradient(position, velocity, mass):
        velocity = velocity - np.mean(mass * velocity, axis=0) / np.mean(mass)
        path = [(position, velocity)]
        acceleration = accelerations(position, mass)
        for _ in range(STEPS):
            velocity = velocity + acceleration * DT / 2.0
            position = position + velocity * DT
            acceleration = accelerations(position, mass)
            velocity = velocity + acceleration * DT / 2.0
            path.append((position, velocity))
        by_position, by_velocity = np.zeros_like(position), np.zeros_like(position)
        by_acceleration = np.zeros_like(position)
        for position, velocity in path[:0:-1]:
            by_velocity = by_velocity + mass * velocity
            by_acceleration = by_acceleration + by_velocity * DT / 2.0
            by_position = by_position + potential_slope(position, mass)
            by_position = by_position + pull(position, mass, by_acceleration)
            by_velocity = by_velocity + by_position * DT
            by_acceleration = by_velocity * DT / 2.0
        position = path[0][0]
        by_position = by_position + potential_slope(position, mass)
        return by_position + pull(position, mass, by_acceleration)

    return gradient


def nbody_inputs() -> Arrays:
    """Bodies in a cube of side 8: in NPBench's unit cube, close encounters amplify rounding."""
    rng = numpy.random.default_rng(42)
    mass = numpy.full((BODIES, 1), 20.0 / BODIES)
    return 8.0 * rng.uniform(size=(BODIES, 3)), rng.uniform(size=(BODIES, 3)), mass


def arc_distance(np: Any, special: Any) -> Function:
    """The haversine formula."""

    def loss(theta_1, phi_1, theta_2, phi_2):
        across = np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2.0) ** 2
        square = np.sin((theta_2 - theta_1) / 2.0) ** 2 + across
        return np.sum(2.0 * np.arctan2(np.sqrt(square), np.sqrt(1.0 - square)))

    return loss


def arc_distance_gradient(np: Any) -> Function:
    def gradient(theta_1, phi_1, theta_2, phi_2):
        half = (theta_2 - theta_1) / 2.0
        turn = np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2.0) ** 2
        square = np.sin(half) ** 2 + np.cos(theta_1) * turn
        by_theta = -np.sin(half) * np.cos(half) - np.sin(theta_1) * turn
        return by_theta / np.sqrt(square * (1.0 - square))

    return gradient


def go_fast(np: Any, special: Any) -> Function:
    """The first example of Numba's documentation: a matrix and the sum of its diagonal's tanh."""
    return lambda a: np.sum(a + np.sum(np.tanh(np.diag(a))))


def go_fast_gradient(np: Any) -> Function:
    def gradient(a):
        result = np.ones_like(a)
        np.fill_diagonal(result, 1.0 + a.size * (1.0 - np.tanh(np.diag(a)) ** 2))
        return result

    return gradient


def compute(np: Any, special: Any) -> Function:
    """The example of Cython's documentation for users of NumPy, in float64."""
    return lambda x, y: np.sum(np.clip(x, 0.2, 0.8) * 4.0 + y * 3.0 + 9.0)


def compute_gradient(np: Any) -> Function:
    return lambda x, y: np.where((x > 0.2) & (x < 0.8), 4.0, 0.0)


def compute_inputs() -> Arrays:
    """Odd multiples of half a thousandth, none of which equals a bound."""
    x, y = uniform((COMPUTE, COMPUTE), (COMPUTE, COMPUTE))()
    return (numpy.floor(1000.0 * x) + 0.5) / 1000.0, y


SOFTMAX = (16, 16, 128, 128)
BATCH, WIDTHS = 8, (3, 30000, 2000, 2000)
IMAGES, HEIGHT, WIDTH, IN, OUT, WINDOW = 8, 32, 32, 3, 16, 2
BODIES, STEPS, DT, SOFTENING, GRAVITY = 25, 40, 0.05, 0.1, 1.0
POINTS, GO_FAST, COMPUTE = 100_000, 2000, 2000

WORKLOADS = (
    kernel(
        "softmax",
        f"sum of squares of a softmax over the last axis of {' x '.join(map(str, SOFTMAX))}",
        uniform(SOFTMAX),
        softmax,
        softmax_gradient,
        Limit(bytes_moved=16 * int(numpy.prod(SOFTMAX)), flops=25 * int(numpy.prod(SOFTMAX))),
        versions={
            "dace": dace.program(dace.softmax, "whole"),
            "jax": jax_softmax,
            "torch": torch_softmax,
        },
    ),
    kernel(
        "conv2d",
        f"sum of a convolution, {IMAGES} images {HEIGHT} x {WIDTH} x {IN}, by the images",
        uniform((IMAGES, HEIGHT, WIDTH, IN), (WINDOW, WINDOW, IN, OUT), (OUT,)),
        conv2d,
        conv2d_gradient,
        Limit(flops=WINDOW**2 * IMAGES * HEIGHT * WIDTH * IN),
        versions={
            "dace": dace.program(dace.conv2d(WINDOW), "forward"),
            "jax": jax_conv2d,
            "torch": torch_conv2d,
        },
    ),
    kernel(
        "mlp",
        f"squares of the softmax of an MLP {'-'.join(map(str, WIDTHS))}, batch {BATCH}, by w1",
        mlp_inputs,
        mlp,
        mlp_gradient,
        # Forward through every layer, back to the first one's weights; w2 is read twice.
        Limit(
            bytes_moved=16 * WIDTHS[1] * WIDTHS[2],
            gemms=(
                *((BATCH, m, n) for m, n in pairwise(WIDTHS)),
                (BATCH, WIDTHS[3], WIDTHS[2]),
                (BATCH, WIDTHS[2], WIDTHS[1]),
                (WIDTHS[0], BATCH, WIDTHS[1]),
            ),
        ),
        versions={"dace": dace.program(dace.mlp, "whole"), "jax": jax_mlp, "torch": torch_mlp},
    ),
    kernel(
        "nbody",
        f"energies of {BODIES} bodies along {STEPS} leapfrog steps, by the first positions",
        nbody_inputs,
        numpy_nbody,
        nbody_gradient,
        Limit(flops=50 * STEPS * BODIES**2),
        versions={
            "dace": dace.program(dace.nbody(STEPS, DT, SOFTENING, GRAVITY)),
            "autojit": lambda autojit: nbody(numpy, autojit.scan, numpy.triu_indices(BODIES, 1)),
            "jax": lambda jax: nbody(jax.numpy, jax.lax.scan, numpy.triu_indices(BODIES, 1)),
            "torch": torch_nbody,
            "torch_compile": UNROLLED,
        },
    ),
    kernel(
        "arc_distance",
        f"sum of {POINTS:,} distances on a sphere, by one latitude",
        uniform(*[(POINTS,)] * 4),
        arc_distance,
        arc_distance_gradient,
        Limit(bytes_moved=40 * POINTS, flops=100 * POINTS),
        versions={
            "dace": dace.program(dace.arc_distance, "whole"),
            "torch": same_text(arc_distance),
        },
    ),
    kernel(
        "go_fast",
        f"sum of a {GO_FAST} x {GO_FAST} matrix plus the sum of its diagonal's tanh",
        uniform((GO_FAST, GO_FAST)),
        go_fast,
        go_fast_gradient,
        Limit(bytes_moved=8 * GO_FAST**2),
        versions={
            "dace": dace.program(dace.go_fast, "forward", "whole"),
            "torch": same_text(go_fast),
        },
    ),
    kernel(
        "compute",
        f"sum of 4 clip(x) + 3 y + 9, {COMPUTE} x {COMPUTE}, by x",
        compute_inputs,
        compute,
        compute_gradient,
        Limit(bytes_moved=16 * COMPUTE**2),
        versions={"dace": dace.program(dace.compute, "whole"), "torch": same_text(compute)},
    ),
)
