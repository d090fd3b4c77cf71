"""Cameras, arms and rays."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Bundle adjustment, rotations by Rodrigues' formula, robust loss",
    full={"cameras": 20, "points": 500, "observations": 5_000},
    tiny={"cameras": 2, "points": 4, "observations": 7},
)
def bundle_residuals(rng, cameras, points, observations):
    camera = rng.integers(0, cameras, observations)
    point = rng.integers(0, points, observations)
    measured = 0.2 * rng.normal(size=(observations, 2))

    def rotate(x, r):
        angle = np.linalg.norm(r, axis=1)[:, None]
        axis = r / angle
        cos, sin = np.cos(angle), np.sin(angle)
        along = np.sum(axis * x, axis=1, keepdims=True) * axis
        return cos * x + sin * np.cross(axis, x) + (1 - cos) * along

    def loss(params, camera, point, measured):
        x = rotate(params["points"][point], params["rotation"][camera])
        x = x + params["translation"][camera]
        image = x[:, :2] / x[:, 2:]
        r2 = np.sum(image**2, axis=1, keepdims=True)
        image = image * (1 + params["k"][camera] * r2) * params["focal"][camera][:, None]
        e2 = np.sum((image - measured) ** 2, axis=1)
        return np.sum(np.sqrt(1 + e2) - 1)

    params = {
        "points": rng.normal(size=(points, 3)),
        "rotation": 0.3 * rng.normal(size=(cameras, 3)),
        "translation": np.array([0, 0, 6.0]) + 0.1 * rng.normal(size=(cameras, 3)),
        "focal": 1 + 0.1 * rng.random(cameras),
        "k": 0.01 * rng.normal(size=(cameras, 1)),
    }
    return loss, (params, camera, point, measured)


@program(
    "Inverse kinematics of a six-joint arm along a path",
    full={"poses": 100, "joints": 6},
    tiny={"poses": 2, "joints": 3},
)
def arm_inverse_kinematics(rng, poses, joints):
    a, d = rng.uniform(0.1, 0.5, joints), rng.uniform(0.0, 0.3, joints)
    twist = np.tile([np.pi / 2, 0.0], joints)[:joints]
    wanted = rng.uniform(-0.5, 0.5, (poses, 3))

    def link(angle, a, d, twist):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
        return np.array(
            [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
        )

    def loss(angles, wanted):
        total = 0.0
        for p in range(len(wanted)):
            pose = np.eye(4)
            for j in range(joints):
                pose = pose @ link(angles[p, j], a[j], d[j], twist[j])
            total += np.sum((pose[:3, 3] - wanted[p]) ** 2)
        return total + 0.1 * np.sum((angles[1:] - angles[:-1]) ** 2)

    return loss, (rng.uniform(-1, 1, (poses, joints)), wanted)


@program(
    "Rays through thin lenses, by focal lengths and places",
    full={"rays": 5_000, "lenses": 6},
    tiny={"rays": 8, "lenses": 2},
)
def thin_lenses(rng, rays, lenses):
    start = np.stack([rng.normal(size=rays), 0.05 * rng.normal(size=rays)])

    def spot_size(params, start):
        focal, gap = np.exp(params[0]), np.exp(params[1])
        ray = start
        for k in range(len(focal)):
            drift = np.array([[1.0, gap[k]], [0.0, 1.0]])
            lens = np.array([[1.0, 0.0], [-1.0 / focal[k], 1.0]])
            ray = lens @ drift @ ray
            ray = np.stack([ray[0], ray[1] - 0.01 * ray[0] ** 3])
        at_screen = ray[0] + 2.0 * ray[1]
        return np.var(at_screen) + 0.1 * np.mean(ray[1] ** 2)

    return spot_size, (0.5 + 0.1 * rng.normal(size=(2, lenses)), start)


@program(
    "Registration of two clouds of points, soft nearest neighbours",
    full={"points": 300},
    tiny={"points": 5},
)
def cloud_registration(rng, points):
    fixed = rng.normal(size=(points, 3))
    moving = fixed[::-1] + 0.05 * rng.normal(size=(points, 3))

    def loss(pose, fixed, moving):
        w, x, y, z = pose[:4] / np.linalg.norm(pose[:4])
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        moved = moving @ rotation.T + pose[4:]
        d2 = ((moved[:, None, :] - fixed[None, :, :]) ** 2).sum(axis=-1)
        near = d2.min(axis=1, keepdims=True)
        return np.mean(near[:, 0] - np.log(np.exp(near - d2).sum(axis=1)))

    return loss, (np.array([1.0, 0.2, -0.1, 0.3, 0.1, 0.2, -0.1]), fixed, moving)
