"""A small Jacobian for each of many observations: the residuals of ADBench's bundle adjustment.

F. Srajer, Z. Kukelova and A. Fitzgibbon, "A Benchmark of Selected Algorithmic Differentiation
Tools on Some Problems in Computer Vision and Machine Learning", 2018. A camera is a rotation
(axis times angle, turned by Rodrigues' formula), its center, the focal length, the principal point
and two coefficients of radial distortion. The residuals of an observation are the weighted errors
of its projection, and one that keeps its weight near one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import sine_cosine

OBSERVATIONS, CAMERAS, POINTS = 10_000, 50, 2_000
ROWS, CAMERA = 3, 11
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


@dataclass(frozen=True)
class Tools:
    """The library functions of the common text; `joined` makes one array of two and a number."""

    np: Any
    cross: Function
    joined: Function


def residuals_of(tools: Tools) -> Function:
    np = tools.np

    def residuals(camera, point, weight, feature):
        rotation, center, focal_length, principal = camera[:3], camera[3:6], camera[6], camera[7:9]
        angle = np.sqrt(np.sum(rotation**2))
        axis, moved = rotation / angle, point - center
        cosine, sine = np.cos(angle), np.sin(angle)
        along = axis * (np.sum(axis * moved) * (1.0 - cosine))
        seen = moved * cosine + tools.cross(axis, moved) * sine + along
        flat = seen[:2] / seen[2]
        square = np.sum(flat**2)
        distorted = flat * (1.0 + camera[9] * square + camera[10] * square**2)
        error = weight * (distorted * focal_length + principal - feature)
        return tools.joined(error, 1.0 - weight**2)

    return residuals


def primal(np: Any, special: Any) -> Function:
    return residuals_of(Tools(np, np.cross, lambda error, last: np.hstack((error, last))))


def torch_primal(torch: Any) -> Function:
    return residuals_of(
        Tools(torch, torch.linalg.cross, lambda error, last: torch.cat((error, last[None])))
    )


def numpy_jacobians(np: Any) -> Function:
    """The derivative of a rotated vector by the rotation as in G. Gallego and A. Yezzi, "A Compact
    Formula for the Derivative of a 3-D Rotation in Exponential Coordinates", 2015.
    """

    def cross_matrix(v):
        zero = np.zeros(len(v))
        x, y, z = v.T
        return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)

    def turned(rotation, moved):
        """The rotations, and the derivatives of the rotated vectors."""
        square = np.sum(rotation**2, axis=1)[:, None, None]
        angle, across = np.sqrt(square), cross_matrix(rotation)
        rotations = np.eye(3) + np.sin(angle) / angle * across
        rotations += (1.0 - np.cos(angle)) / square * (across @ across)
        outer = rotation[:, :, None] * rotation[:, None, :]
        inner = outer + (rotations.transpose(0, 2, 1) - np.eye(3)) @ across
        return rotations, -rotations @ cross_matrix(moved) @ inner / square

    def projected(seen, k1, k2):
        """The point on the plane, before and after the distortion; the derivative of the latter."""
        flat = seen[:, :2] / seen[:, 2:]
        square = np.sum(flat**2, axis=1)
        scale, slope = 1.0 + k1 * square + k2 * square**2, k1 + 2.0 * k2 * square
        bent = scale[:, None, None] * np.eye(2)
        bent = bent + 2.0 * slope[:, None, None] * flat[:, :, None] * flat[:, None, :]
        by_seen = np.zeros((len(seen), 2, 3))
        by_seen[:, 0, 0] = by_seen[:, 1, 1] = 1.0 / seen[:, 2]
        by_seen[:, :, 2] = -flat / seen[:, 2:]
        return flat, square[:, None] * flat, scale[:, None] * flat, bent @ by_seen

    def jacobians(camera, point, weight, feature):
        moved, n = point - camera[:, 3:6], len(camera)
        rotations, by_rotation = turned(camera[:, :3], moved)
        seen = (rotations @ moved[:, :, None])[:, :, 0]
        flat, cubic, distorted, by_seen = projected(seen, camera[:, 9], camera[:, 10])
        focal_length, w = camera[:, 6:7], weight[:, None]
        by_seen = (w * focal_length)[:, :, None] * by_seen
        by_camera, by_point = np.zeros((n, ROWS, CAMERA)), np.zeros((n, ROWS, 3))
        by_weight = np.empty((n, ROWS))
        by_point[:, :2] = by_seen @ rotations
        by_camera[:, :2, :3], by_camera[:, :2, 3:6] = by_seen @ by_rotation, -by_point[:, :2]
        by_camera[:, :2, 6] = w * distorted
        by_camera[:, 0, 7] = by_camera[:, 1, 8] = weight
        by_camera[:, :2, 9] = w * focal_length * cubic
        by_camera[:, :2, 10] = by_camera[:, :2, 9] * np.sum(flat**2, axis=1)[:, None]
        by_weight[:, :2] = distorted * focal_length + camera[:, 7:9] - feature
        by_weight[:, 2] = -2.0 * weight
        return by_camera, by_point, by_weight

    return jacobians


def numba_turn(numba: Any) -> Function:
    both = sine_cosine(numba)

    @numba.njit(**OPTIONS)
    def turn(camera, point):
        """The axis, angle, its sine and cosine, the vector to be rotated, and the rotated one."""
        rx, ry, rz = camera[0], camera[1], camera[2]
        x, y, z = point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]
        angle = numpy.sqrt(rx * rx + ry * ry + rz * rz)
        inverse = 1.0 / angle
        ax, ay, az = rx * inverse, ry * inverse, rz * inverse
        sine, cosine = both(angle)
        along = (ax * x + ay * y + az * z) * (1.0 - cosine)
        seen = (
            x * cosine + (ay * z - az * y) * sine + ax * along,
            y * cosine + (az * x - ax * z) * sine + ay * along,
            z * cosine + (ax * y - ay * x) * sine + az * along,
        )
        return (ax, ay, az), (inverse, sine, cosine), (x, y, z), seen

    return turn


def numba_row(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def row(axis, turned, vector, seen, back, by_camera, by_point):
        """Compute the cotangents of rotation, center and point from that of the rotated vector.

        With a the axis and v the vector, y = v cos + (a x v) sin + a (a . v) (1 - cos) moves with
        the angle by a x y; the axis moves with the rotation by (1 - a a^T) / angle.
        """
        (ax, ay, az), (inverse, sine, cosine), (x, y, z) = axis, turned, vector
        (sx, sy, sz), (gx, gy, gz) = seen, back
        rest = 1.0 - cosine
        on_back, on_vector = ax * gx + ay * gy + az * gz, ax * x + ay * y + az * z
        px = gx * cosine - (ay * gz - az * gy) * sine + ax * on_back * rest
        py = gy * cosine - (az * gx - ax * gz) * sine + ay * on_back * rest
        pz = gz * cosine - (ax * gy - ay * gx) * sine + az * on_back * rest
        by_point[0], by_point[1], by_point[2] = px, py, pz
        by_camera[3], by_camera[4], by_camera[5] = -px, -py, -pz
        # The cotangent of the axis; its component along the axis does not matter.
        bx = (y * gz - z * gy) * sine + (on_back * x + on_vector * gx) * rest
        by = (z * gx - x * gz) * sine + (on_back * y + on_vector * gy) * rest
        bz = (x * gy - y * gx) * sine + (on_back * z + on_vector * gz) * rest
        turn = gx * (ay * sz - az * sy) + gy * (az * sx - ax * sz) + gz * (ax * sy - ay * sx)
        turn -= (ax * bx + ay * by + az * bz) * inverse
        by_camera[0] = bx * inverse + ax * turn
        by_camera[1] = by * inverse + ay * turn
        by_camera[2] = bz * inverse + az * turn

    return row


def numba_observation(numba: Any, turn: Function) -> Function:
    row = numba_row(numba)

    @numba.njit(**OPTIONS)
    def observation(camera, point, weight, feature, by_camera, by_point, by_weight):
        axis, turned, vector, seen = turn(camera, point)
        inverse = 1.0 / seen[2]
        p, q = seen[0] * inverse, seen[1] * inverse
        focal_length, k1, k2 = camera[6], camera[9], camera[10]
        square = p * p + q * q
        scale, slope = 1.0 + square * (k1 + square * k2), 2.0 * (k1 + 2.0 * k2 * square)
        by_camera[:] = 0.0
        by_camera[0, 7] = by_camera[1, 8] = weight
        by_weight[2] = -2.0 * weight
        by_point[2, 0] = by_point[2, 1] = by_point[2, 2] = 0.0
        strength = weight * focal_length
        for i in range(2):
            at = q if i else p
            by_camera[i, 6] = weight * at * scale
            by_camera[i, 9] = strength * at * square
            by_camera[i, 10] = strength * at * square * square
            by_weight[i] = at * scale * focal_length + camera[7 + i] - feature[i]
            by_p, by_q = at * slope * p, at * slope * q
            gx = strength * inverse * (by_p + (0.0 if i else scale))
            gy = strength * inverse * (by_q + (scale if i else 0.0))
            back = gx, gy, -gx * p - gy * q
            row(axis, turned, vector, seen, back, by_camera[i], by_point[i])

    return observation


def numba_version(numba: Any) -> tuple[Function, Function]:
    turn = numba_turn(numba)
    observation = numba_observation(numba, turn)

    @numba.njit(parallel=True, **OPTIONS)
    def values(camera, point, weight, feature):
        result = numpy.empty((weight.size, ROWS))
        for n in numba.prange(weight.size):
            _, _, _, seen = turn(camera[n], point[n])
            p, q = seen[0] / seen[2], seen[1] / seen[2]
            square, w = p * p + q * q, weight[n]
            scale = camera[n, 6] * (1.0 + square * (camera[n, 9] + square * camera[n, 10]))
            result[n, 0] = w * (p * scale + camera[n, 7] - feature[n, 0])
            result[n, 1] = w * (q * scale + camera[n, 8] - feature[n, 1])
            result[n, 2] = 1.0 - w * w
        return result

    @numba.njit(parallel=True, **OPTIONS)
    def fill(camera, point, weight, feature, by_camera, by_point, by_weight):
        for n in numba.prange(weight.size):
            observation(
                camera[n], point[n], weight[n], feature[n], by_camera[n], by_point[n], by_weight[n]
            )

    def jacobians(camera, point, weight, feature):
        # NumPy asks for huge pages for its arrays; Numba's own `empty` does not.
        shapes = (ROWS, CAMERA), (ROWS, 3), (ROWS,)
        results = tuple(numpy.empty((len(weight), *shape)) for shape in shapes)
        fill(camera, point, weight, feature, *results)
        return results

    return values, jacobians


def inputs() -> Arrays:
    """Cameras before a cloud of points, observed at random; each observation with its camera."""
    rng = numpy.random.default_rng(0)
    cameras = numpy.concatenate(
        (
            0.3 * rng.normal(size=(CAMERAS, 3)),
            rng.normal(size=(CAMERAS, 3)) - numpy.array([0.0, 0.0, 10.0]),
            rng.uniform(1.0, 2.0, (CAMERAS, 1)),
            0.1 * rng.normal(size=(CAMERAS, 2)),
            0.1 * rng.normal(size=(CAMERAS, 2)),
        ),
        axis=1,
    )
    points = rng.normal(size=(POINTS, 3))
    return (
        cameras[rng.integers(0, CAMERAS, OBSERVATIONS)],
        points[rng.integers(0, POINTS, OBSERVATIONS)],
        rng.uniform(0.5, 1.5, OBSERVATIONS),
        0.3 * rng.normal(size=(OBSERVATIONS, 2)),
    )


WORKLOADS = (
    Workload(
        name="jacobian_bundle",
        derivative_of=f"residuals of each of {OBSERVATIONS:,} observations, 3 by 15 parameters",
        derivative="per_example_jacobian",
        dtype="float64",
        target=None,
        inputs=inputs,
        argnums=(0, 1, 2),
        mapped=(0, 1, 2, 3),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_jacobians,
            "torch": torch_primal,
        },
        # 17 numbers in, 45 out; sine and cosine of some 40 flops, 60 to project, 90 for each row.
        limit=Limit(bytes_moved=8 * (17 + 45) * OBSERVATIONS, flops=280 * OBSERVATIONS),
    ),
)
