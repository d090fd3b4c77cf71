"""Epidemics, drugs, enzymes and trees."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program("SIR epidemic by Euler's steps in a list", full={"days": 365}, tiny={"days": 6})
def sir_epidemic(rng, days):
    cases = rng.poisson(50, days).astype(float)

    def negative_log_likelihood(params, cases):
        beta, gamma, initial = np.exp(params)
        s, i, r = 1e5 - initial, initial, 0.0
        infected = []
        for _ in range(days):
            new = beta * s * i / 1e5
            s, i, r = s - new, i + new - gamma * i, r + gamma * i
            infected.append(new)
        rate = np.array(infected) + 1e-6
        return np.sum(rate - cases * np.log(rate))

    return negative_log_likelihood, (np.array([-1.5, -2.2, 3.0]), cases)


@program(
    "Drug in two compartments, all patients at once, repeated doses",
    full={"patients": 100, "steps": 240, "dose_every": 48},
    tiny={"patients": 3, "steps": 6, "dose_every": 3},
)
def two_compartments(rng, patients, steps, dose_every):
    weight = rng.uniform(50, 100, patients)
    seen = rng.exponential(size=(patients, steps // dose_every))

    def loss(params, weight, seen):
        population, individual = params
        rates = np.exp(population[:, None] + 0.2 * individual)
        ka, ke, k12, k21, volume = rates
        gut, central, peripheral = np.zeros((3, len(weight)))
        dt = 0.5
        found = []
        for t in range(steps):
            if t % dose_every == 0:
                gut = gut + 5.0 * weight / 70.0
            absorbed = ka * gut
            flow = k12 * central - k21 * peripheral
            gut = gut - dt * absorbed
            central = central + dt * (absorbed - ke * central - flow)
            peripheral = peripheral + dt * flow
            if t % dose_every == dose_every - 1:
                found.append(central / volume)
        concentration = np.stack(found, axis=1)
        residual = np.log(concentration + 1e-3) - np.log(seen + 1e-3)
        return 0.5 * np.sum(residual**2) + 0.5 * np.sum(individual**2)

    population = np.log(np.array([0.3, 0.1, 0.05, 0.04, 20.0]))
    return loss, ((population, rng.normal(size=(5, patients))), weight, seen)


@program(
    "Michaelis-Menten with inhibition, one fit for each enzyme by vmap",
    full={"enzymes": 500, "points": 24},
    tiny={"enzymes": 3, "points": 4},
    needs=("vmap",),
)
def michaelis_menten(rng, enzymes, points, vmap):
    substrate = rng.uniform(0.1, 10, (enzymes, points))
    rate = substrate / (1 + substrate) + 0.05 * rng.normal(size=(enzymes, points))

    def one(theta, substrate, rate):
        vmax, km, ki = np.exp(theta)
        expected = vmax * substrate / (km + substrate * (1 + substrate / ki))
        residual = rate - expected
        return np.sum(np.where(np.abs(residual) < 0.1, 5 * residual**2, np.abs(residual) - 0.05))

    def loss(theta, substrate, rate):
        return np.sum(vmap(one)(theta, substrate, rate))

    return loss, (0.3 * rng.normal(size=(enzymes, 3)), substrate, rate)


@program(
    "Likelihood of a phylogenetic tree by pruning, branch lengths",
    full={"leaves": 24, "sites": 500},
    tiny={"leaves": 4, "sites": 3},
)
def tree_pruning(rng, leaves, sites):
    data = np.eye(4)[rng.integers(0, 4, (leaves, sites))]
    joins, alive = [], list(range(leaves))
    for parent in range(leaves, 2 * leaves - 1):
        pair = rng.choice(len(alive), 2, replace=False)
        left, right = (alive[k] for k in pair)
        joins.append((left, right))
        alive = [node for node in alive if node not in (left, right)] + [parent]

    def negative_log_likelihood(log_length, data):
        change = -np.expm1(-4 / 3 * np.exp(log_length))

        def along(branch, partial):
            """Jukes-Cantor: the state stays, or is drawn again."""
            return (1 - change[branch]) * partial + change[branch] * partial.mean(-1)[:, None]

        partials = list(data)
        for left, right in joins:
            partials.append(along(left, partials[left]) * along(right, partials[right]))
        return -np.sum(np.log(partials[-1].mean(axis=1)))

    return negative_log_likelihood, (rng.normal(size=2 * leaves - 2) - 2, data)


@program(
    "Lotka-Volterra of many species by Runge-Kutta in a Python loop",
    full={"species": 20, "steps": 200},
    tiny={"species": 3, "steps": 3},
)
def many_species(rng, species, steps):
    start = rng.uniform(0.2, 1.0, species)
    goal = rng.uniform(0.2, 1.0, species)

    def miss(params, start, goal):
        growth, interaction = params

        def slope(x):
            return x * (growth - interaction @ x)

        x, dt = start, 0.05
        for _ in range(steps):
            k1 = slope(x)
            k2 = slope(x + 0.5 * dt * k1)
            k3 = slope(x + 0.5 * dt * k2)
            k4 = slope(x + dt * k3)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return np.sum((np.log(x) - np.log(goal)) ** 2)

    interaction = np.eye(species) + 0.3 * rng.random((species, species)) / species
    return miss, ((rng.uniform(0.5, 1.0, species), interaction), start, goal)
