"""Fields on grids: steps of partial differential equations and mean fields."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Reaction and diffusion (Gray-Scott), steps with np.roll",
    full={"size": 64, "steps": 50},
    tiny={"size": 5, "steps": 2},
)
def reaction_diffusion(rng, size, steps):
    u = 1 - 0.5 * rng.random((size, size))
    v = 0.25 * rng.random((size, size))

    def laplacian(x):
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x

    def contrast(params, u, v):
        du, dv, feed, kill = params
        for _ in range(steps):
            reaction = u * v**2
            u = u + du * laplacian(u) - reaction + feed * (1 - u)
            v = v + dv * laplacian(v) + reaction - (feed + kill) * v
        return np.var(v) + np.mean(u)

    return contrast, (np.array([0.16, 0.08, 0.035, 0.065]), u, v)


@program(
    "Burgers' equation upwind, by np.where, from its initial state",
    full={"cells": 500, "steps": 200},
    tiny={"cells": 8, "steps": 3},
)
def burgers_upwind(rng, cells, steps):
    x = np.linspace(0, 2 * np.pi, cells, endpoint=False)
    goal = 0.5 * np.sin(x - 1)

    def miss(u, goal):
        ratio = 0.4
        for _ in range(steps):
            left = u - np.roll(u, 1)
            right = np.roll(u, -1) - u
            u = u - ratio * u * np.where(u > 0, left, right)
        return np.mean((u - goal) ** 2)

    return miss, (np.sin(x) + 0.3 + 0.01 * rng.normal(size=cells), goal)


@program(
    "Shallow water with Rusanov's flux and walls, by the bed",
    full={"cells": 400, "steps": 100},
    tiny={"cells": 6, "steps": 2},
)
def shallow_water(rng, cells, steps):
    x = np.linspace(0, 1, cells)
    height = 1 + 0.3 * np.exp(-100 * (x - 0.3) ** 2)

    def wave_at_wall(bed, height):
        g, ratio = 9.81, 0.1
        q = np.stack([height, np.zeros_like(height)])
        slope = np.gradient(bed)
        highest = []
        for _ in range(steps):
            h = np.concatenate([q[0, :1], q[0], q[0, -1:]])
            m = np.concatenate([-q[1, :1], q[1], -q[1, -1:]])
            flux = np.stack([m, m**2 / h + 0.5 * g * h**2])
            speed = np.abs(m / h) + np.sqrt(g * h)
            top = np.maximum(speed[1:], speed[:-1])
            state = np.stack([h, m])
            f = 0.5 * (flux[:, 1:] + flux[:, :-1]) - 0.5 * top * (state[:, 1:] - state[:, :-1])
            source = np.stack([np.zeros_like(bed), -g * q[0] * slope])
            q = q - ratio * (f[:, 1:] - f[:, :-1]) + ratio * source
            highest.append(q[0, -1])
        return np.mean(np.stack(highest) ** 2)

    return wave_at_wall, (0.05 * rng.normal(size=cells), height)


@program(
    "Wave equation by leapfrog, written into slices, by the speed of sound",
    full={"points": 500, "steps": 300},
    tiny={"points": 8, "steps": 9},
)
def leapfrog_wave(rng, points, steps):
    seen = 0.1 * rng.normal(size=steps)

    def misfit(speed, seen):
        courant = (0.5 * speed) ** 2
        last = np.zeros(points)
        now = np.zeros(points)
        total = 0.0
        for t in range(steps):
            following = np.zeros(points)
            following[1:-1] = (
                2 * now[1:-1] - last[1:-1] + courant[1:-1] * (now[2:] - 2 * now[1:-1] + now[:-2])
            )
            following[points // 4] += np.exp(-((t - 5.0) ** 2) / 8)
            last, now = now, following
            total += (now[points // 2] - seen[t]) ** 2
        return total

    return misfit, (1 + 0.1 * rng.random(points), seen)


@program(
    "Mean field of an Ising model, fixed-point steps by its couplings",
    full={"size": 64, "steps": 30},
    tiny={"size": 4, "steps": 2},
)
def ising_mean_field(rng, size, steps):
    field = rng.normal(size=(size, size))

    def free_energy(params, field):
        right, down, beta = params["right"], params["down"], params["beta"]
        m = np.zeros_like(field)
        for _ in range(steps):
            local = field + right * np.roll(m, -1, 1) + np.roll(right * m, 1, 1)
            local = local + down * np.roll(m, -1, 0) + np.roll(down * m, 1, 0)
            m = 0.5 * m + 0.5 * np.tanh(beta * local)
        bonds = np.sum(m * (right * np.roll(m, -1, 1) + down * np.roll(m, -1, 0)))
        p = np.clip((1 + m) / 2, 1e-9, 1 - 1e-9)
        entropy = -np.sum(p * np.log(p) + (1 - p) * np.log(1 - p))
        return -bonds - np.sum(field * m) - entropy / beta

    couplings = 0.3 * rng.normal(size=(2, size, size))
    return free_energy, ({"right": couplings[0], "down": couplings[1], "beta": 0.8}, field)


@program(
    "Van der Waals' equation fitted to pressures, beside the ideal gas",
    full={"points": 20_000},
    tiny={"points": 8},
)
def van_der_waals(rng, points):
    volume, temperature = rng.uniform(0.5, 5.0, points), rng.uniform(250, 450, points)
    pressure = 8.314e-2 * temperature / volume * (1 + 0.05 * rng.normal(size=points))

    def loss(params, volume, temperature, pressure):
        a, b, log_noise = params
        rt = 8.314e-2 * temperature
        expected = rt / (volume - b) - a / volume**2
        z = (pressure - expected) / np.exp(log_noise)
        return np.mean(0.5 * z**2 + log_noise) + 1e-2 * np.mean((expected * volume / rt - 1) ** 2)

    return loss, (np.array([1.4, 0.04, 0.5]), volume, temperature, pressure)


@program(
    "Phase field of Allen and Cahn, explicit steps on padded arrays",
    full={"size": 64, "steps": 40},
    tiny={"size": 5, "steps": 2},
)
def allen_cahn(rng, size, steps):
    goal = np.where(rng.random((size, size)) < 0.5, -1.0, 1.0)

    def misfit(state, goal):
        start, log_width = state
        u = np.tanh(start)
        for _ in range(steps):
            p = np.pad(u, 1, mode="edge")
            lap = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u
            u = u + 0.1 * (np.exp(log_width) * lap + u - u**3)
        return np.mean((u - goal) ** 2)

    return misfit, ((rng.normal(size=(size, size)), -0.5), goal)
