"""Price European calls and get every sensitivity by differentiating the price.

python examples/black_scholes.py
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from autojit import grad, jit


def price(spot, volatility, time, rate, strike):
    """The Black-Scholes price of a call."""
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    return spot * ndtr(d1) - strike * np.exp(-rate * time) * ndtr(d1 - root)


def closed_forms(spot, volatility, time, rate, strike):
    """Delta, vega, theta, rho and gamma as textbooks give them."""
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    d2, density = d1 - root, np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
    discounted = strike * np.exp(-rate * time)
    return {
        "delta": ndtr(d1),
        "vega": spot * density * np.sqrt(time),
        "theta": -spot * density * volatility / (2 * np.sqrt(time)) - rate * discounted * ndtr(d2),
        "rho": discounted * time * ndtr(d2),
        "gamma": density / (spot * root),
    }


def main():
    strikes = np.linspace(60.0, 140.0, 9)
    market = tuple(np.full_like(strikes, value) for value in (100.0, 0.25, 0.75, 0.03))

    def total(*args):
        return np.sum(price(*args))  # options are independent: this gradient has those of all

    def total_delta(spot, *rest):
        return np.sum(grad(total)(spot, *rest))

    delta, vega, by_time, rho = jit(grad(total, argnums=(0, 1, 2, 3)))(*market, strikes)
    gamma = jit(grad(total_delta))(*market, strikes)
    greeks = {"delta": delta, "vega": vega, "theta": -by_time, "rho": rho, "gamma": gamma}

    print("strike  " + "".join(f"{name:>10}" for name in greeks))
    for i, strike in enumerate(strikes):
        print(f"{strike:6.0f}  " + "".join(f"{values[i]:10.4f}" for values in greeks.values()))
    expected = closed_forms(*market, strikes)
    worst = max(np.max(np.abs(greeks[name] - expected[name])) for name in greeks)
    assert worst < 1e-10
    print(f"largest difference from the closed forms: {worst:.0e}")


if __name__ == "__main__":
    main()
