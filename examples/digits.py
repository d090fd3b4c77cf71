"""Recognise handwritten digits: a small tanh network fitted with compiled gradients.

The loss is plain NumPy. `jit(value_and_grad(loss))` is passed directly to SciPy's L-BFGS. The
gradient is compared with one derived by hand, and its compiled program is shown.

    python examples/digits.py            # shows the start of the fused program
    python examples/digits.py --full     # shows all of it
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text
from scipy.optimize import minimize
from sklearn.datasets import load_digits

from autojit import jit, value_and_grad

HIDDEN, CLASSES, PENALTY, ITERATIONS = 32, 10, 1e-3, 100


def data():
    """Pixels in [0, 1] and one-hot labels: rows to fit, rows held out."""
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    pixels, labels = pixels[order] / 16, np.eye(CLASSES)[digits[order]]
    return (pixels[:1200], labels[:1200]), (pixels[1200:], labels[1200:])


def initial(inputs):
    rng = np.random.default_rng(1)
    return {
        "hidden": rng.standard_normal((inputs, HIDDEN)) / np.sqrt(inputs),
        "hidden_bias": np.zeros(HIDDEN),
        "out": rng.standard_normal((HIDDEN, CLASSES)) / np.sqrt(HIDDEN),
        "out_bias": np.zeros(CLASSES),
    }


def ravel(params):
    """One vector of all parameters, and a function that splits it again."""
    sizes = [value.size for value in params.values()]
    stops = np.cumsum(sizes).tolist()

    def unravel(vector):
        return {
            name: vector[stop - size : stop].reshape(value.shape)
            for (name, value), size, stop in zip(params.items(), sizes, stops, strict=True)
        }

    return np.concatenate([value.ravel() for value in params.values()]), unravel


def scores(params, x):
    hidden = np.tanh(x @ params["hidden"] + params["hidden_bias"])
    return hidden @ params["out"] + params["out_bias"]


def loss(params, x, labels):
    """Mean cross-entropy of the softmax, and L2 on the weights."""
    z = scores(params, x)
    z = z - z.max(axis=1, keepdims=True)
    log_likelihood = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    weights = np.sum(params["hidden"] ** 2) + np.sum(params["out"] ** 2)
    return -np.mean(np.sum(labels * log_likelihood, axis=1)) + PENALTY * weights


def by_hand(params, x, labels):
    """The same value and gradient, derived with pencil and paper."""
    hidden = np.tanh(x @ params["hidden"] + params["hidden_bias"])
    z = hidden @ params["out"] + params["out_bias"]
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1, keepdims=True)
    weights = np.sum(params["hidden"] ** 2) + np.sum(params["out"] ** 2)
    value = -np.mean(np.sum(labels * (z - np.log(total)), axis=1)) + PENALTY * weights
    dz = (e / total - labels) / len(x)
    da = (dz @ params["out"].T) * (1 - hidden**2)
    return value, {
        "hidden": x.T @ da + 2 * PENALTY * params["hidden"],
        "hidden_bias": da.sum(axis=0),
        "out": hidden.T @ dz + 2 * PENALTY * params["out"],
        "out_bias": dz.sum(axis=0),
    }


def milliseconds(f, *args):
    """The median time of a call."""
    times = []
    for _ in range(50):
        start = perf_counter()
        f(*args)
        times.append(perf_counter() - start)
    return 1e3 * float(np.median(times))


def fit(objective, start, console):
    """Fit by L-BFGS with a progress bar."""
    columns = [TextColumn("fitting"), BarColumn(), TextColumn("{task.description}")]
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=ITERATIONS)

        def step(intermediate_result):
            progress.update(task, advance=1, description=f"loss {intermediate_result.fun:.4f}")

        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", callback=step,
            options={"maxiter": ITERATIONS},
        )  # fmt: skip
        progress.update(task, completed=ITERATIONS)
    return found


def show_program(text, console, full):
    """Show the fused loops; without --full only the first ones, cut at the terminal's width."""
    lines = text.rstrip().splitlines()
    if full:
        shown = lines
    else:
        shown = [line for line in lines if not line.startswith("  temp ")][:30]
        shown = [line[: console.width] for line in shown]
    for line in shown:
        console.print(Text(line, "dim"), soft_wrap=True)
    if len(shown) < len(lines):
        console.print(f"({len(lines) - len(shown)} more lines: --full shows them)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="show the whole fused program")
    full = parser.parse_args().full
    console = Console(highlight=False, legacy_windows=False, emoji=False)
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        sys.stdout.reconfigure(errors="replace")

    (x, labels), (held_out, answers) = data()
    start, unravel = ravel(initial(x.shape[1]))
    objective = jit(value_and_grad(lambda vector: loss(unravel(vector), x, labels)))

    begin = perf_counter()
    value, gradient = objective(start)
    console.print(f"traced and compiled in {perf_counter() - begin:.2f} s")
    expected, pieces = by_hand(unravel(start), x, labels)
    expected_gradient, _ = ravel(pieces)
    error = np.max(np.abs(gradient - expected_gradient)) / np.max(np.abs(expected_gradient))
    assert abs(value - expected) < 1e-12 * abs(expected)
    assert error < 1e-12
    console.print(f"gradient equals the one derived by hand: relative difference {error:.0e}")

    found = fit(objective, start, console)
    right = scores(unravel(found.x), held_out).argmax(axis=1) == answers.argmax(axis=1)
    console.print(f"loss {value:.3f} -> {found.fun:.3f} in {found.nit} iterations")
    console.print(f"held-out accuracy {right.mean():.1%} of {len(right)} digits")

    ours = milliseconds(objective, start)
    theirs = milliseconds(lambda vector: ravel(by_hand(unravel(vector), x, labels)[1]), start)
    console.print(f"one gradient: {ours:.2f} ms compiled, {theirs:.2f} ms by hand in NumPy")

    lowered = objective.lower(start)
    cost = lowered.cost()
    console.print(
        f"{cost['ops']} operations became {cost['loops']} loops "
        f"and {cost['products']} matrix products:\n"
    )
    show_program(lowered.text("loops"), console, full)


if __name__ == "__main__":
    main()
