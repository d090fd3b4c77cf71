"""NPBench's kernels for DaCe, with loops and assignments as in NPBench, by the same authors.

DaCe's automatic optimisation is worth a factor of two or more, but after it some graphs cannot be
differentiated or optimised further, and some gradients are wrong (DaCe 2.0.0b1). Each version names
the stages that give the fastest correct gradient.

Gradients are also wrong if a loop carries several arrays of which one depends on itself and on
another: so in `nbody` and `durbin` one array, `state`, holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workload import Function

ALPHA, BETA = 1.5, 1.2

Version = Callable[[Any], tuple[Function, tuple[str, ...]]]


def program(function: Function, *stages: str) -> Version:
    """A version for DaCe; `stages` names the graphs to optimise: "forward", "whole", or both."""
    return lambda dace: (function, stages)


def same_program(primal: Callable[[Any, Any], Function], *stages: str) -> Version:
    """A version for DaCe with the common text."""
    return lambda dace: (primal(np, None), stages)


def gemver(A, u1, v1, u2, v2, w, x, y, z):
    updated = A + np.multiply.outer(u1, v1) + np.multiply.outer(u2, v2)
    moved = x + BETA * y @ updated + z
    return np.sum(updated) + np.sum(w + ALPHA * updated @ moved) + np.sum(moved)


def correlation(data):
    centred = data - np.mean(data, axis=0)
    deviation = np.sqrt(np.mean(centred**2, axis=0))
    deviation[deviation <= 0.1] = 1.0
    scaled = centred / (np.sqrt(float(data.shape[0])) * deviation)
    return np.sum(scaled.T @ scaled)


def jacobi_1d(sweeps: int) -> Function:
    def loss(A, B):
        for _ in range(sweeps):
            B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
            A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
        return np.sum(A) + np.sum(B)

    return loss


def jacobi_2d(sweeps: int) -> Function:
    def loss(A, B):
        for _ in range(sweeps):
            B[1:-1, 1:-1] = 0.2 * (
                A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
            )
            A[1:-1, 1:-1] = 0.2 * (
                B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
            )
        return np.sum(A) + np.sum(B)

    return loss


def heat_3d(sweeps: int) -> Function:
    def loss(A, B):
        for _ in range(sweeps):
            B[1:-1, 1:-1, 1:-1] = (
                0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
                + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
                + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
                + A[1:-1, 1:-1, 1:-1]
            )
            A[1:-1, 1:-1, 1:-1] = (
                0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
                + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
                + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
                + B[1:-1, 1:-1, 1:-1]
            )
        return np.sum(A) + np.sum(B)

    return loss


def fdtd_2d(ex, ey, hz, pulse):
    for t in range(pulse.shape[0]):
        ey[0, :] = pulse[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(ex) + np.sum(ey) + np.sum(hz)


def seidel_2d(sweeps: int) -> Function:
    def loss(A):
        for _ in range(sweeps):
            for i in range(1, A.shape[0] - 1):
                A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:]
                A[i, 1:-1] += A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
                for j in range(1, A.shape[1] - 1):
                    A[i, j] += A[i, j - 1]
                    A[i, j] /= 9.0
        return np.sum(A)

    return loss


def hdiff(field, coefficient):
    """Uses each name once: in DaCe, a view cannot be assigned again."""
    around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    lap = 4.0 * field[1:-1, 1:-1] - around
    jump_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_x = np.where(jump_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, jump_x)
    jump_y = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_y = np.where(jump_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, jump_y)
    change = flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]
    return np.sum(field[2:-2, 2:-2] - coefficient * change)


def vadv(rate: float, layers: int) -> Function:
    """The lower diagonal is minus the upper one, `wind`, so neither needs an array."""
    last = layers - 1

    def loss(u_stage, utens_stage, wcon, u_pos, utens):
        wind = 0.125 * (wcon[1:, :, 1:] + wcon[:-1, :, 1:])
        jump = wind * (u_stage[:, :, 1:] - u_stage[:, :, :-1])
        right = rate * u_pos + utens + utens_stage
        right[:, :, 1:] -= jump
        right[:, :, :-1] -= jump
        c = np.zeros_like(u_stage)
        x = np.zeros_like(u_stage)
        c[:, :, 0] = wind[:, :, 0] / (rate - wind[:, :, 0])
        x[:, :, 0] = right[:, :, 0] / (rate - wind[:, :, 0])
        for k in range(1, last):
            divided = 1.0 / (rate + (1.0 + c[:, :, k - 1]) * wind[:, :, k - 1] - wind[:, :, k])
            c[:, :, k] = wind[:, :, k] * divided
            x[:, :, k] = (right[:, :, k] + x[:, :, k - 1] * wind[:, :, k - 1]) * divided
        x[:, :, last] = (right[:, :, last] + x[:, :, last - 1] * wind[:, :, last - 1]) / (
            rate + (1.0 + c[:, :, last - 1]) * wind[:, :, last - 1]
        )
        for k in range(last - 1, -1, -1):
            x[:, :, k] -= c[:, :, k] * x[:, :, k + 1]
        return np.sum(rate * (x - u_pos))

    return loss


def softmax(x):
    shifted = np.exp(x - np.maximum.reduce(x, axis=-1, keepdims=True))
    share = shifted / np.add.reduce(shifted, axis=-1, keepdims=True)
    return np.sum(share**2)


def conv2d(window: int) -> Function:
    edge = window - 1

    def loss(images, weights, bias):
        result = np.zeros(
            (images.shape[0], images.shape[1] - edge, images.shape[2] - edge, weights.shape[3])
        )
        for i in range(window):
            for j in range(window):
                result += (
                    images[:, i : i + images.shape[1] - edge, j : j + images.shape[2] - edge, :]
                    @ weights[i, j]
                )
        return np.sum(result + bias)

    return loss


def mlp(w1, b1, w2, b2, w3, b3, x):
    first = np.maximum(x @ w1 + b1, 0.0)
    second = np.maximum(first @ w2 + b2, 0.0)
    third = second @ w3 + b3
    shifted = np.exp(third - np.maximum.reduce(third, axis=-1, keepdims=True))
    share = shifted / np.add.reduce(shifted, axis=-1, keepdims=True)
    return np.sum(share**2)


def nbody(steps: int, dt: float, softening: float, gravity: float) -> Function:
    """The state is the positions, the velocities and the accelerations."""
    half = dt / 2.0

    def loss(position, velocity, mass):
        total = np.zeros(1)
        state = np.zeros((3, position.shape[0], 3))
        state[0] = position
        state[1] = velocity - np.mean(mass * velocity, axis=0) / np.mean(mass)
        for t in range(steps + 1):
            if t > 0:
                state[1] += state[2] * half
                state[0] += state[1] * dt
            apart = state[0, None, :, :] - state[0, :, None, :]
            weight = (np.sum(apart**2, axis=2) + softening**2) ** -1.5 * mass[:, 0]
            state[2] = gravity * np.sum(weight[:, :, None] * apart, axis=1)
            if t > 0:
                state[1] += state[2] * half
            total[0] += 0.5 * np.sum(mass * state[1] ** 2)
            for i in range(position.shape[0]):
                for j in range(i + 1, position.shape[0]):
                    total[0] -= (gravity * mass[i, 0] * mass[j, 0]) / np.sqrt(
                        (state[0, i, 0] - state[0, j, 0]) ** 2
                        + (state[0, i, 1] - state[0, j, 1]) ** 2
                        + (state[0, i, 2] - state[0, j, 2]) ** 2
                    )
        return np.sum(total)

    return loss


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    """Uses the arc tangent of a quotient, since `arctan2` has no derivative in DaCe."""
    across = np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2.0) ** 2
    square = np.sin((theta_2 - theta_1) / 2.0) ** 2 + across
    return np.sum(2.0 * np.arctan(np.sqrt(square) / np.sqrt(1.0 - square)))


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return np.sum(a + trace)


def compute(x, y):
    return np.sum(np.clip(x, 0.2, 0.8) * 4.0 + y * 3.0 + 9.0)


def syrk(A, C):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= BETA
        for k in range(A.shape[1]):
            C[i, : i + 1] += ALPHA * A[i, k] * A[: i + 1, k]
    return np.sum(C)


def syr2k(A, B, C):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= BETA
        for k in range(A.shape[1]):
            C[i, : i + 1] += ALPHA * (A[: i + 1, k] * B[i, k] + B[: i + 1, k] * A[i, k])
    return np.sum(C)


def symm(A, B, C):
    C *= BETA
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += ALPHA * B[i, j] * A[i, :i]
            C[i, j] += ALPHA * (B[i, j] * A[i, i] + B[:i, j] @ A[i, :i])
    return np.sum(C)


def trmm(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1 :, i] @ B[i + 1 :, j]
    B *= ALPHA
    return np.sum(B)


def trisolv(L, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x)


def durbin(r):
    """The state's rows: the solution, the same reversed and flush right, and each step's alpha and
    beta. DaCe makes no view of a reversed slice, and takes no name for a size in a slice.
    """
    state = np.zeros((4, r.shape[0]))
    backwards = np.zeros_like(r)
    for i in range(r.shape[0]):
        backwards[i] = r[r.shape[0] - 1 - i]
    state[0, 0] = -r[0]
    state[1, r.shape[0] - 1] = -r[0]
    state[2, 0] = -r[0]
    state[3, 0] = 1.0
    for k in range(1, r.shape[0]):
        state[3, k] = state[3, k - 1] * (1.0 - state[2, k - 1] ** 2)
        state[2, k] = -(r[k] + backwards[r.shape[0] - k :] @ state[0, :k]) / state[3, k]
        solution = state[0, :k] + state[2, k] * state[1, r.shape[0] - k :]
        reversed_solution = state[1, r.shape[0] - k :] + state[2, k] * state[0, :k]
        state[0, :k] = solution
        state[1, r.shape[0] - k :] = reversed_solution
        state[0, k] = state[2, k]
        state[1, r.shape[0] - k - 1] = state[2, k]
    return np.sum(state[0])


def cholesky(A):
    """Cholesky by rows, as in NPBench."""
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])
    for i in range(A.shape[0]):
        A[i, i + 1 :] = 0.0
    return np.sum(A)


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A)


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(Q) + np.sum(R)
