"""Time series, filters and finance."""

from __future__ import annotations

import math

import numpy as np

from .program import program

_rng = np.random.default_rng(11)
_NORMAL = _rng.normal(size=(20, 12))
_RETURNS = 0.02 * _rng.normal(size=40)


@program((_rng.normal(size=8),), (np.arange(5.0),))
def welford(data):
    count, mean, m2 = 0, 0.0, 0.0
    for x in data:
        count += 1
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
    if count < 2:
        return float("nan")
    return m2 / (count - 1)


@program((_rng.normal(size=12), 0.3), (np.arange(9.0), 0.8), by=(0, 1))
def exponential_smoothing(series, alpha):
    result = [series[0]]
    for n in range(1, len(series)):
        result.append(alpha * series[n] + (1 - alpha) * result[n - 1])
    error = 0.0
    for n in range(1, len(series)):
        error += (series[n] - result[n - 1]) ** 2
    return error


@program((0.1, 0.5), (2.0, 0.1), by=(0, 1))
def kalman_filter(q, r):
    """Return the log-likelihood of a random walk whose observations have gaps."""
    observed = [0.3, 0.5, None, 0.2, -0.1, None, None, 0.4]
    mean, variance, loglik = 0.0, 1.0, 0.0
    for z in observed:
        variance += q
        if z is not None:
            s = variance + r
            innovation = z - mean
            loglik -= 0.5 * (math.log(2 * math.pi * s) + innovation**2 / s)
            k = variance / s
            mean += k * innovation
            variance *= 1 - k
    return loglik


@program((0.05, 0.2), (0.3, 0.6), by=(0, 1))
def garch(alpha, beta):
    omega = 1e-5
    if alpha + beta >= 1:
        return np.inf
    h = omega / (1 - alpha - beta)
    total = 0.0
    for t in range(len(_RETURNS)):
        total += 0.5 * (math.log(h) + _RETURNS[t] ** 2 / h)
        shock = alpha * _RETURNS[t] ** 2
        if _RETURNS[t] < 0:
            shock *= 1.5
        h = omega + shock + beta * h
    return total


@program((100.0, 0.2), (90.0, 0.4), by=(0, 1))
def barrier_option(s0, sigma, strike=95.0, barrier=125.0, r=0.01, dt=1 / 12):
    paths, steps = _NORMAL.shape
    total = 0.0
    for p in range(paths):
        s = s0
        alive = True
        for t in range(steps):
            s *= math.exp((r - sigma**2 / 2) * dt + sigma * math.sqrt(dt) * _NORMAL[p, t])
            if s > barrier:
                alive = False
                break
        if alive:
            total += max(s - strike, 0.0)
    return total / paths


@program((101.0, 0.3), (80.0, 0.2), by=(0, 1))
def american_put(s, sigma, k=100.0, r=0.05, t=1.0, n=20):
    dt = t / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    values = [max(k - s * u**j * d ** (n - j), 0.0) for j in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = disc * (p * values[j + 1] + (1 - p) * values[j])
            exercise = k - s * u**j * d ** (i - j)
            values[j] = exercise if exercise > hold else hold
    return values[0]


@program((np.array([-100.0, 30.0, 40.0, 50.0, 20.0]),), (np.array([-50.0, 10.0, 60.0]),))
def internal_rate_of_return(flows):
    rate = 0.1
    for _ in range(100):
        value = slope = 0.0
        for t, flow in enumerate(flows):
            value += flow / (1 + rate) ** t
            slope -= t * flow / (1 + rate) ** (t + 1)
        step = value / slope
        rate -= step
        if abs(step) < 1e-13:
            return rate
    return float("nan")


@program((10000.0, 0.01, 500.0), (1000.0, 0.02, 100.0), by=(0, 1, 2))
def amortization(balance, rate, payment):
    """Return the total interest paid on a loan."""
    interest = 0.0
    months = 0
    while balance > 0:
        charge = balance * rate
        interest += charge
        paid = min(payment, balance + charge)
        balance = balance + charge - paid
        months += 1
        if months >= 600:
            break
    return interest


@program((0.4, 0.1), (1.2, 0.2), by=(0, 1))
def epidemic_with_lockdown(beta, gamma, days=40):
    s, i, r = 0.99, 0.01, 0.0
    locked = False
    peak = i
    for _ in range(days):
        if not locked and i > 0.1:
            locked = True
        elif locked and i < 0.05:
            locked = False
        contact = beta * 0.3 if locked else beta
        new = contact * s * i
        s, i, r = s - new, i + new - gamma * i, r + gamma * i
        peak = max(peak, i)
    return peak + r


@program((1.6, 0.9), (3.0, 0.95), by=(0, 1))
def spiking_neuron(current, leak, threshold=4.0):
    v = 0.0
    last = -1
    intervals = []
    trace = 0.0
    for t in range(30):
        v = leak * v + current
        if v >= threshold:
            v -= threshold
            if last >= 0:
                intervals.append(t - last)
            last = t
        trace += v * v
    return trace + len(intervals)


@program((1.6, 0.9), (3.0, 0.95), by=(0, 1))
def integrate_and_fire(current, leak, threshold=4.0):
    v, refractory, spikes, trace = 0.0, 0, 0, 0.0
    for _ in range(50):
        if refractory > 0:
            refractory -= 1
            continue
        v = leak * v + current
        if v >= threshold:
            v = 0.0
            spikes += 1
            refractory = 2
        trace += v * v
    return trace + spikes


class PID:
    """A controller with a limit and a stop to the windup of its integral."""

    def __init__(self, kp, ki, kd, limit=1.0):
        self.kp, self.ki, self.kd, self.limit = kp, ki, kd, limit
        self.integral = 0.0
        self.previous = None

    def update(self, error, dt):
        derivative = 0.0 if self.previous is None else (error - self.previous) / dt
        self.previous = error
        out = self.kp * error + self.ki * self.integral + self.kd * derivative
        if out > self.limit:
            return self.limit
        elif out < -self.limit:
            return -self.limit
        self.integral += error * dt
        return out


@program((0.8, 0.4, 0.1), (3.0, 0.5, 0.2), by=(0, 1, 2))
def pid_controller(kp, ki, kd):
    controller = PID(kp, ki, kd)
    position, velocity, cost = 0.0, 0.0, 0.0
    for _ in range(60):
        force = controller.update(1.0 - position, 0.1)
        velocity += 0.1 * (force - 0.2 * velocity)
        position += 0.1 * velocity
        cost += abs(1.0 - position) * 0.1
    return cost


@program((1.5, 0.4), (0.2, 0.9), by=(0, 1))
def particle_filter(drift, noise):
    """Resample systematically if the weights are uneven, with numbers drawn in advance."""
    particles = [0.1 * k for k in range(8)]
    weights = [1 / 8] * 8
    loglik = 0.0
    for t in range(6):
        total = 0.0
        for k in range(8):
            particles[k] += 0.1 * drift + noise * 0.1 * _NORMAL[t, k]
            weights[k] *= math.exp(-0.5 * (particles[k] - 0.3 * t) ** 2)
            total += weights[k]
        loglik += math.log(total)
        squares = 0.0
        for k in range(8):
            weights[k] /= total
            squares += weights[k] ** 2
        if 1 / squares < 6:
            cumulated, j = weights[0], 0
            chosen = []
            for k in range(8):
                while cumulated < (k + 0.5) / 8 and j < 7:
                    j += 1
                    cumulated += weights[j]
                chosen.append(particles[j])
            particles = chosen
            weights = [1 / 8] * 8
    return loglik


@program((np.cumsum(_rng.normal(size=30)) + 50,), (np.arange(30.0) + 1,))
def largest_drawdown(prices):
    peak = prices[0]
    worst = 0.0
    for p in prices:
        if p > peak:
            peak = p
        drawdown = (peak - p) / peak
        if drawdown > worst:
            worst = drawdown
    return worst + peak


@program((np.cumsum(_rng.normal(size=30)) + 50, 2.0), (np.arange(30.0) % 7 + 5, 0.5), by=(0, 1))
def trading_rule(prices, cost):
    """Buys above the mean of the last five prices, and sells below."""
    cash, shares = 1000.0, 0.0
    for t in range(5, len(prices)):
        mean = sum(prices[t - 5 : t]) / 5
        if prices[t] > mean and shares == 0:
            shares = (cash - cost) / prices[t]
            cash = 0.0
        elif prices[t] < mean and shares > 0:
            cash = shares * prices[t] - cost
            shares = 0.0
    return cash + shares * prices[-1]
