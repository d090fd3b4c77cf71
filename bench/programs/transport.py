"""Transport, assignment and choice."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Soft assignment by Sinkhorn's iteration in a fori_loop",
    full={"points": 150, "steps": 50},
    tiny={"points": 4, "steps": 3},
    needs=("fori_loop",),
)
def sinkhorn_assignment(rng, points, steps, fori_loop):
    target = rng.normal(size=(points, 2))

    def cost(source, target):
        d2 = np.sum((source[:, None, :] - target[None, :, :]) ** 2, axis=-1)
        scaled = -d2 / 0.5

        def body(_, potentials):
            f, g = potentials
            f = -np.log(np.mean(np.exp(scaled + g[None, :]), axis=1))
            g = -np.log(np.mean(np.exp(scaled + f[:, None]), axis=0))
            return f, g

        start = (np.zeros(points), np.zeros(points))
        f, g = fori_loop(0, steps, body, start)
        plan = np.exp(scaled + f[:, None] + g[None, :]) / points**2
        return np.sum(plan * d2)

    return cost, (rng.normal(size=(points, 2)) + 0.5, target)


@program(
    "Dual of optimal transport, the smallest reduced cost of each point",
    full={"points": 500},
    tiny={"points": 5},
)
def transport_dual(rng, points):
    source, target = rng.normal(size=(points, 2)), rng.normal(size=(points, 2)) + 1

    def negative_dual(potential, source, target):
        cost = np.sqrt(((source[:, None] - target[None]) ** 2).sum(-1))
        other = np.min(cost - potential[None, :], axis=1)
        return -np.mean(potential) - np.mean(other)

    return negative_dual, (0.1 * rng.normal(size=points), source, target)


@program(
    "Nested logit of choices, nests by columns",
    full={"people": 5_000, "products": 12},
    tiny={"people": 6, "products": 4},
)
def nested_logit(rng, people, products):
    x = rng.normal(size=(people, products, 4))
    choice = rng.integers(0, products, people)
    nests = np.array_split(np.arange(products), 3 if products > 4 else 2)
    nest_of = np.concatenate([np.full(len(columns), k) for k, columns in enumerate(nests)])

    def negative_log_likelihood(params, x, choice):
        beta, raw = params
        lam = 1 / (1 + np.exp(-raw))
        v = x @ beta
        inclusive = []
        for k, columns in enumerate(nests):
            inclusive.append(np.log(np.sum(np.exp(v[:, columns] / lam[k]), axis=1)))
        iv = np.stack(inclusive, axis=1)
        top = lam * iv
        log_nest = top - np.log(np.sum(np.exp(top), axis=1, keepdims=True))
        people = np.arange(len(choice))
        nest = np.take(nest_of, choice)
        within = v[people, choice] / lam[nest] - iv[people, nest]
        return -np.sum(within + log_nest[people, nest])

    return negative_log_likelihood, ((0.3 * rng.normal(size=4), np.ones(len(nests))), x, choice)


@program(
    "Demand with random coefficients: shares by simulated consumers",
    full={"products": 40, "consumers": 500},
    tiny={"products": 3, "consumers": 5},
)
def random_coefficients(rng, products, consumers):
    x = rng.normal(size=(products, 3))
    taste = rng.normal(size=(consumers, 3))
    shares = rng.dirichlet(np.ones(products + 1))[1:]

    def loss(params, x, taste, shares):
        delta, log_sigma = params
        utility = delta + (taste * np.exp(log_sigma)) @ x.T
        e = np.exp(utility)
        expected = np.mean(e / (1 + e.sum(axis=1, keepdims=True)), axis=0)
        return np.sum((np.log(shares) - np.log(expected)) ** 2)

    return loss, ((rng.normal(size=products), np.full(3, -1.0)), x, taste, shares)


@program(
    "Consumption and savings: value iteration with np.interp",
    full={"grid": 100, "periods": 30},
    tiny={"grid": 6, "periods": 3},
)
def savings(rng, grid, periods):
    assets = np.linspace(0.1, 10, grid)
    shocks = np.exp(0.2 * rng.normal(size=5))

    def welfare(params, assets, shocks):
        patience, risk = params
        policy = 0.5 * assets
        value = policy ** (1 - risk) / (1 - risk)
        for _ in range(periods):
            saved = assets - policy
            following = 1.03 * saved[:, None] + shocks[None, :]
            expected = np.mean(np.interp(following, assets, value), axis=1)
            value = policy ** (1 - risk) / (1 - risk) + patience * expected
        return np.mean(value)

    return welfare, (np.array([0.95, 2.0]), assets, shocks)


@program(
    "PageRank by powers of a weighted graph, by its weights",
    full={"nodes": 1_000, "edges": 8_000, "steps": 30},
    tiny={"nodes": 5, "edges": 12, "steps": 3},
)
def page_rank(rng, nodes, edges, steps):
    source = np.concatenate([np.arange(nodes), rng.integers(0, nodes, edges - nodes)])
    target = rng.integers(0, nodes, edges)
    wanted = rng.dirichlet(np.ones(nodes))

    def divergence(log_weight, source, target, wanted):
        weight = np.exp(log_weight)
        out = np.zeros(nodes)
        np.add.at(out, source, weight)
        share = weight / out[source]
        rank = np.full(nodes, 1.0 / nodes)
        for _ in range(steps):
            moved = np.zeros(nodes)
            np.add.at(moved, target, share * rank[source])
            rank = 0.15 / nodes + 0.85 * moved
        return np.sum(wanted * (np.log(wanted) - np.log(rank)))

    return divergence, (0.3 * rng.normal(size=edges), source, target, wanted)
