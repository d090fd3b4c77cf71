"""Bodies, structures and their control."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program("Energy of a chain of pendulums", full={"links": 400}, tiny={"links": 3})
def pendulum_chain(rng, links):
    mass, length = rng.uniform(0.5, 1.5, links), rng.uniform(0.1, 0.3, links)

    def energy(state, mass, length):
        angle, speed = state
        x_dot = np.cumsum(length * speed * np.cos(angle))
        y_dot = np.cumsum(length * speed * np.sin(angle))
        height = -np.cumsum(length * np.cos(angle))
        return 0.5 * np.sum(mass * (x_dot**2 + y_dot**2)) + 9.81 * np.sum(mass * height)

    return energy, ((rng.normal(size=links), rng.normal(size=links)), mass, length)


@program(
    "n bodies with softened gravity, energy after leapfrog steps",
    full={"bodies": 60, "steps": 20},
    tiny={"bodies": 3, "steps": 2},
)
def softened_bodies(rng, bodies, steps):
    mass = rng.uniform(0.5, 1.5, bodies)
    goal = rng.normal(size=(bodies, 3))

    def acceleration(x, mass):
        d = x[None, :, :] - x[:, None, :]
        r2 = (d**2).sum(axis=2) + 0.01
        return (mass[None, :, None] * d * (r2**-1.5)[:, :, None]).sum(axis=1) / len(x)

    def miss(start, mass, goal):
        x, v = start
        dt = 0.02
        a = acceleration(x, mass)
        for _ in range(steps):
            v = v + 0.5 * dt * a
            x = x + dt * v
            a = acceleration(x, mass)
            v = v + 0.5 * dt * a
        return np.sum((x - goal) ** 2)

    return miss, ((rng.normal(size=(bodies, 3)), 0.1 * rng.normal(size=(bodies, 3))), mass, goal)


@program(
    "Falling sphere with Stokes' and quadratic drag, fitted by a Python loop",
    full={"steps": 500},
    tiny={"steps": 6},
)
def drag_trajectory(rng, steps):
    seen = np.stack([np.linspace(0, 4, steps), np.linspace(2, -1, steps)], axis=1)

    def loss(params, seen):
        linear, quadratic, vx, vy = params
        dt = 0.01
        position = np.array([0.0, 2.0])
        velocity = np.array([vx, vy])
        total = 0.0
        for t in range(len(seen)):
            speed = np.sqrt(velocity @ velocity + 1e-12)
            force = np.array([0.0, -9.81]) - (linear + quadratic * speed) * velocity
            velocity = velocity + dt * force
            position = position + dt * velocity
            total += np.sum((position - seen[t]) ** 2)
        return total / len(seen)

    return loss, (np.array([0.2, 0.05, 4.0, 2.0]), seen)


@program(
    "Deflection of a beam of varying stiffness, tridiagonal solve as a matrix",
    full={"nodes": 200},
    tiny={"nodes": 5},
)
def beam_deflection(rng, nodes):
    load = np.sin(np.linspace(0, np.pi, nodes))

    def compliance(log_stiffness, load):
        k = np.exp(log_stiffness)
        n = len(load)
        matrix = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
        deflection = np.linalg.solve(matrix, load / n**2)
        return load @ deflection + 0.01 * np.sum(k) / n

    return compliance, (0.3 * rng.normal(size=nodes + 1), load)


@program(
    "Compliance of a truss, assembled by np.add.at",
    full={"columns": 12, "rows": 6},
    tiny={"columns": 3, "rows": 2},
)
def truss_compliance(rng, columns, rows):
    grid = np.arange(columns * rows).reshape(columns, rows)
    pairs = [(grid[:-1], grid[1:]), (grid[:, :-1], grid[:, 1:]), (grid[:-1, :-1], grid[1:, 1:])]
    pairs.append((grid[:-1, 1:], grid[1:, :-1]))
    bars = np.concatenate([np.stack([p.ravel(), q.ravel()], axis=1) for p, q in pairs])
    place = np.stack(np.divmod(np.arange(columns * rows), rows), axis=1).astype(float)
    free = np.arange(2 * rows, 2 * columns * rows)  # the first column is held
    force = np.zeros(2 * columns * rows)
    force[-1] = -1.0

    def compliance(log_area, place, force):
        d = place[bars[:, 1]] - place[bars[:, 0]]
        length = np.sqrt(np.sum(d**2, axis=1))
        n = d / length[:, None]
        direction = np.hstack([-n, n])
        dof = np.stack([2 * bars[:, 0], 2 * bars[:, 0] + 1, 2 * bars[:, 1], 2 * bars[:, 1] + 1], 1)
        area = np.exp(log_area)
        element = (area / length)[:, None, None] * direction[:, :, None] * direction[:, None, :]
        stiffness = np.zeros((len(force), len(force)))
        np.add.at(stiffness, (dof[:, :, None], dof[:, None, :]), element)
        u = np.linalg.solve(stiffness[np.ix_(free, free)], force[free])
        return force[free] @ u + 0.1 * np.sum(area * length)

    return compliance, (0.1 * rng.normal(size=len(bars)), place, force)


@program(
    "Linear feedback rolled out with matrices, by its gain",
    full={"states": 6, "controls": 2, "steps": 100},
    tiny={"states": 2, "controls": 1, "steps": 3},
)
def feedback_rollout(rng, states, controls, steps):
    a = np.eye(states) + 0.02 * rng.normal(size=(states, states))
    b = 0.1 * rng.normal(size=(states, controls))
    q, r = np.eye(states), 0.1 * np.eye(controls)

    def cost(gain, x0):
        x = x0
        total = 0.0
        for _ in range(steps):
            u = -gain @ x
            total += x @ q @ x + u @ r @ u
            x = a @ x + b @ u
        return total + 10 * x @ x

    return cost, (0.1 * rng.normal(size=(controls, states)), np.ones(states))


@program(
    "Riccati recursion for the best gain, cost by the model's matrices",
    full={"states": 8, "controls": 2, "steps": 60},
    tiny={"states": 2, "controls": 1, "steps": 3},
)
def riccati_recursion(rng, states, controls, steps):
    a = np.eye(states) + 0.1 * rng.normal(size=(states, states))
    b = rng.normal(size=(states, controls))

    def cost(model):
        a, b = model
        q, r = np.eye(states), np.eye(controls)
        p = q
        for _ in range(steps):
            gain = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
            p = q + a.T @ p @ (a - b @ gain)
        return np.trace(p)

    return cost, ((a, b),)
