"""A Kalman filter's log-likelihood: matrices of four by four, factored in each step of a loop.

A library call for each product of such small matrices would mean 20,000 calls.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.loops import UNROLLED, scan_of

STEPS, STATES, SEEN = 1000, 4, 2
LOG_TWO_PI = float(numpy.log(2.0 * numpy.pi))


def likelihood(np: Any, scan: Function) -> Function:
    """Minus the log-likelihood of observations `ys` (STEPS, SEEN).

    The state moves by A x + N(0, diag(exp(log_q))), from N(mean, cov); the observation is
    H x + N(0, diag(exp(log_r))).
    """

    def loss(transition, log_q, log_r, seen, mean, cov, ys):
        q, r = np.diag(np.exp(log_q)), np.diag(np.exp(log_r))

        def step(state, y):
            mean, cov = state
            mean = transition @ mean
            cov = transition @ cov @ transition.T + q
            residual = y - seen @ mean
            spread = seen @ cov @ seen.T + r
            gain = np.linalg.solve(spread, seen @ cov).T
            weighted = np.linalg.solve(spread, residual)
            _, log_det = np.linalg.slogdet(spread)
            mean = mean + gain @ residual
            cov = cov - gain @ spread @ gain.T
            return (mean, cov), 0.5 * (residual @ weighted + log_det + SEEN * LOG_TWO_PI)

        _, terms = scan(step, (mean, cov), ys)
        return np.sum(terms)

    return loss


def primal(np: Any, special: Any) -> Function:
    return likelihood(np, scan_of(np))


def jax_primal(jax: Any) -> Function:
    return likelihood(jax.numpy, jax.lax.scan)


def autojit_primal(autojit: Any) -> Function:
    return likelihood(numpy, autojit.scan)


def torch_primal(torch: Any) -> Function:
    return primal(torch, None)


def numpy_gradient(np: Any) -> Function:
    """The gradient by Fisher's identity: the expected slope of the joint density, given all
    observations.

    The expectations come from the filter and the Rauch-Tung-Striebel smoother; see R. Shumway and
    D. Stoffer, "Time Series Analysis and Its Applications", 6.2 and 6.3. No step is differentiated.
    """
    inverse = np.linalg.inv

    def filtered(a, q, r, h, mean, cov, ys):
        means, covs, predicted = [mean], [cov], []
        for y in ys:
            mean, cov = a @ means[-1], a @ covs[-1] @ a.T + q
            gain = cov @ h.T @ inverse(h @ cov @ h.T + r)
            predicted.append((mean, cov))
            means.append(mean + gain @ (y - h @ mean))
            covs.append((np.eye(STATES) - gain @ h) @ cov)
        return means, covs, predicted

    def smoothed(a, means, covs, predicted):
        """Means and covariances of all states, and covariances with the previous state."""
        mean, cov = means[-1], covs[-1]
        all_means, all_covs, beside = [mean], [cov], []
        for t in range(STEPS - 1, -1, -1):
            ahead_mean, ahead_cov = predicted[t]
            back = covs[t] @ a.T @ inverse(ahead_cov)
            beside.append(cov @ back.T)
            mean = means[t] + back @ (mean - ahead_mean)
            cov = covs[t] + back @ (cov - ahead_cov) @ back.T
            all_means.append(mean)
            all_covs.append(cov)
        return np.array(all_means[::-1]), np.array(all_covs[::-1]), np.array(beside[::-1])

    def gradient(a, log_q, log_r, h, mean, cov, ys):
        q, r = np.exp(log_q), np.exp(log_r)
        found = filtered(a, np.diag(q), np.diag(r), h, mean, cov, ys)
        means, covs, beside = smoothed(a, *found)
        before, now = means[:-1], means[1:]
        # Sums of E[x x'] for the state, the previous state, both, and the state with observations.
        squares = now.T @ now + covs[1:].sum(axis=0)
        squares_before = before.T @ before + covs[:-1].sum(axis=0)
        across = now.T @ before + beside.sum(axis=0)
        with_seen = ys.T @ now
        moved = across @ a.T
        noise = squares - moved - moved.T + a @ squares_before @ a.T
        shown = with_seen @ h.T
        error = ys.T @ ys - shown - shown.T + h @ squares @ h.T
        return (
            -(across - a @ squares_before) / q[:, None],
            0.5 * (STEPS - np.diag(noise) / q),
            0.5 * (STEPS - np.diag(error) / r),
            -(with_seen - h @ squares) / r[:, None],
        )

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy", "forceinline": True}


def numba_products(numba: Any) -> tuple[Function, Function]:
    """Loops of fixed lengths, which LLVM unrolls."""
    njit = numba.njit(**OPTIONS)

    @njit
    def dot(a, b, result):
        """result = a @ b, with STATES columns each."""
        for i in range(a.shape[0]):
            for j in range(STATES):
                total = 0.0
                for k in range(STATES):
                    total += a[i, k] * b[k, j]
                result[i, j] = total

    @njit
    def dot_transposed(a, b, result):
        """result = a @ b.T, with STATES columns in both."""
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                total = 0.0
                for k in range(STATES):
                    total += a[i, k] * b[j, k]
                result[i, j] = total

    return dot, dot_transposed


def numba_forward(numba: Any, dot: Function, dot_transposed: Function) -> tuple[Function, Function]:
    """A step of the filter in two parts. With P the covariance `ahead_cov`, S that of an
    observation, e its error, U = H P and G = S^-1 U: mean' = ahead + U^T S^-1 e, cov' = P - U^T G.
    """
    njit = numba.njit(**OPTIONS)

    @njit
    def predict(a, q, mean, cov, moved, ahead, ahead_cov):
        dot(a, cov, moved)
        dot_transposed(moved, a, ahead_cov)
        for i in range(STATES):
            ahead_cov[i, i] += q[i]
            ahead[i] = 0.0
            for k in range(STATES):
                ahead[i] += a[i, k] * mean[k]

    @njit
    def observe(r, h, y, ahead, ahead_cov, u, g, inverse, v, mean, cov):
        """Return the determinant of S and e^T S^-1 e; `v` becomes S^-1 e."""
        dot(h, ahead_cov, u)
        dot_transposed(u, h, inverse)
        s00, s01, s11 = inverse[0, 0] + r[0], inverse[0, 1], inverse[1, 1] + r[1]
        det = s00 * s11 - s01 * s01
        scale = 1.0 / det
        i00, i01, i11 = s11 * scale, -s01 * scale, s00 * scale
        inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = i00, i01, i01, i11
        e0, e1 = y[0], y[1]
        for k in range(STATES):
            e0 -= h[0, k] * ahead[k]
            e1 -= h[1, k] * ahead[k]
        v[0], v[1] = i00 * e0 + i01 * e1, i01 * e0 + i11 * e1
        for j in range(STATES):
            g[0, j], g[1, j] = i00 * u[0, j] + i01 * u[1, j], i01 * u[0, j] + i11 * u[1, j]
            mean[j] = ahead[j] + u[0, j] * v[0] + u[1, j] * v[1]
        for i in range(STATES):
            for j in range(STATES):
                cov[i, j] = ahead_cov[i, j] - u[0, i] * g[0, j] - u[1, i] * g[1, j]
        return det, e0 * v[0] + e1 * v[1]

    return predict, observe


def numba_observe_back(numba: Any, dot: Function) -> Function:
    @numba.njit(**OPTIONS)
    def observe_back(h, ahead, ahead_cov, u, g, inverse, v, d_mean, d_cov, gc, d_u, d_r, d_h):
        """Turn the cotangents of the new state into those of the predicted one."""
        dot(g, d_cov, gc)
        w0 = w1 = c00 = c01 = c11 = 0.0
        for k in range(STATES):
            w0 += g[0, k] * d_mean[k]
            w1 += g[1, k] * d_mean[k]
            c00 += gc[0, k] * g[0, k]
            c01 += gc[0, k] * g[1, k]
            c11 += gc[1, k] * g[1, k]
        v0, v1 = v[0], v[1]
        # The cotangents of S, and those of e.
        s00 = c00 + 0.5 * (inverse[0, 0] - v0 * v0) - w0 * v0
        s01 = c01 + 0.5 * (inverse[0, 1] - v0 * v1 - w0 * v1 - w1 * v0)
        s11 = c11 + 0.5 * (inverse[1, 1] - v1 * v1) - w1 * v1
        e0, e1 = v0 + w0, v1 + w1
        d_r[0] += s00
        d_r[1] += s11
        for j in range(STATES):
            d_u[0, j] = v0 * d_mean[j] - 2.0 * gc[0, j] + s00 * h[0, j] + s01 * h[1, j]
            d_u[1, j] = v1 * d_mean[j] - 2.0 * gc[1, j] + s01 * h[0, j] + s11 * h[1, j]
        dot(d_u, ahead_cov, gc)
        for j in range(STATES):
            d_h[0, j] += s00 * u[0, j] + s01 * u[1, j] - e0 * ahead[j] + gc[0, j]
            d_h[1, j] += s01 * u[0, j] + s11 * u[1, j] - e1 * ahead[j] + gc[1, j]
            d_mean[j] -= h[0, j] * e0 + h[1, j] * e1
        for i in range(STATES):
            for j in range(STATES):
                one = h[0, i] * d_u[0, j] + h[1, i] * d_u[1, j]
                other = h[0, j] * d_u[0, i] + h[1, j] * d_u[1, i]
                d_cov[i, j] += 0.5 * (one + other)

    return observe_back


def numba_predict_back(numba: Any, dot: Function) -> Function:
    @numba.njit(**OPTIONS)
    def predict_back(a, a_transposed, mean, moved, d_mean, d_cov, work, d_a, d_q):
        """Turn the cotangents of the predicted state into those of the previous state."""
        dot(d_cov, moved, work)
        for i in range(STATES):
            d_q[i] += d_cov[i, i]
            for j in range(STATES):
                d_a[i, j] += 2.0 * work[i, j] + d_mean[i] * mean[j]
        dot(d_cov, a, work)
        dot(a_transposed, work, d_cov)
        d0, d1, d2, d3 = d_mean[0], d_mean[1], d_mean[2], d_mean[3]
        for i in range(STATES):
            d_mean[i] = a[0, i] * d0 + a[1, i] * d1 + a[2, i] * d2 + a[3, i] * d3

    return predict_back


def numba_value(numba: Any, predict: Function, observe: Function) -> Function:
    @numba.njit(**OPTIONS)
    def value(a, log_q, log_r, h, start, start_cov, ys):
        q, r = numpy.exp(log_q), numpy.exp(log_r)
        mean, cov, ahead, v = start.copy(), start_cov.copy(), numpy.empty(STATES), numpy.empty(SEEN)
        moved, ahead_cov = numpy.empty((STATES, STATES)), numpy.empty((STATES, STATES))
        u, g = numpy.empty((SEEN, STATES)), numpy.empty((SEEN, STATES))
        inverse = numpy.empty((SEEN, SEEN))
        total = STEPS * SEEN * LOG_TWO_PI
        for t in range(STEPS):
            predict(a, q, mean, cov, moved, ahead, ahead_cov)
            det, square = observe(r, h, ys[t], ahead, ahead_cov, u, g, inverse, v, mean, cov)
            total += square + numpy.log(det)
        return 0.5 * total

    return value


def numba_filtered(numba: Any, predict: Function, observe: Function) -> Function:
    @numba.njit(**OPTIONS)
    def filtered(a, q, r, h, start, start_cov, ys):
        """The values that the reverse pass needs, step by step."""
        means, covs = numpy.empty((STEPS + 1, STATES)), numpy.empty((STEPS + 1, STATES, STATES))
        moved, ahead_covs = numpy.empty_like(covs), numpy.empty_like(covs)
        aheads, vs = numpy.empty_like(means), numpy.empty((STEPS, SEEN))
        us, gs = numpy.empty((STEPS, SEEN, STATES)), numpy.empty((STEPS, SEEN, STATES))
        inverses = numpy.empty((STEPS, SEEN, SEEN))
        means[0], covs[0] = start, start_cov
        for t in range(STEPS):
            predict(a, q, means[t], covs[t], moved[t], aheads[t], ahead_covs[t])
            observe(
                r, h, ys[t], aheads[t], ahead_covs[t],
                us[t], gs[t], inverses[t], vs[t], means[t + 1], covs[t + 1],
            )  # fmt: skip
        return means, moved, aheads, ahead_covs, us, gs, inverses, vs

    return filtered


def numba_version(numba: Any) -> tuple[Function, Function]:
    dot, dot_transposed = numba_products(numba)
    predict, observe = numba_forward(numba, dot, dot_transposed)
    observe_back, predict_back = numba_observe_back(numba, dot), numba_predict_back(numba, dot)
    filtered = numba_filtered(numba, predict, observe)

    @numba.njit(**OPTIONS)
    def gradient(a, log_q, log_r, h, start, start_cov, ys):
        q, r, a_transposed = numpy.exp(log_q), numpy.exp(log_r), a.T.copy()
        means, moved, aheads, ahead_covs, us, gs, inverses, vs = filtered(
            a, q, r, h, start, start_cov, ys
        )
        d_mean, d_cov = numpy.zeros(STATES), numpy.zeros((STATES, STATES))
        gc, d_u, work = numpy.empty_like(h), numpy.empty_like(h), numpy.empty_like(a)
        d_a, d_h = numpy.zeros_like(a), numpy.zeros_like(h)
        d_q, d_r = numpy.zeros_like(q), numpy.zeros_like(r)
        for t in range(STEPS - 1, -1, -1):
            observe_back(
                h, aheads[t], ahead_covs[t], us[t], gs[t], inverses[t], vs[t],
                d_mean, d_cov, gc, d_u, d_r, d_h,
            )  # fmt: skip
            predict_back(a, a_transposed, means[t], moved[t], d_mean, d_cov, work, d_a, d_q)
        return d_a, d_q * q, d_r * r, d_h

    return numba_value(numba, predict, observe), gradient


def inputs() -> Arrays:
    """A slowly turning state, seen in part, with noise."""
    rng = numpy.random.default_rng(0)
    turned, _ = numpy.linalg.qr(numpy.eye(STATES) + 0.3 * rng.normal(size=(STATES, STATES)))
    transition = 0.95 * turned
    log_q, log_r = rng.uniform(-2.0, 0.0, STATES), rng.uniform(-2.0, 0.0, SEEN)
    seen = rng.normal(size=(SEEN, STATES))
    x, ys = rng.normal(size=STATES), []
    for _ in range(STEPS):
        x = transition @ x + numpy.exp(0.5 * log_q) * rng.normal(size=STATES)
        ys.append(seen @ x + numpy.exp(0.5 * log_r) * rng.normal(size=SEEN))
    # These differ a little from the true parameters, so that no gradient is near zero.
    parameters = (0.97 * transition, log_q + 0.2, log_r - 0.2, 1.1 * seen)
    return *parameters, numpy.zeros(STATES), numpy.eye(STATES), numpy.array(ys)


WORKLOADS = (
    Workload(
        name="kalman",
        derivative_of=f"log-likelihood of {STEPS:,} observations, {STATES} states, {SEEN} seen",
        dtype="float64",
        target=8.0,
        inputs=inputs,
        argnums=(0, 1, 2, 3),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "torch": torch_primal,
            "torch_compile": UNROLLED,
        },
        # 500 flops per step forward, some 800 back. A step waits for two products of four, half of
        # them by the observation, the inverse of its covariance and the update; as much back.
        limit=Limit(flops=1300 * STEPS, chain=36 * STEPS),
    ),
)
