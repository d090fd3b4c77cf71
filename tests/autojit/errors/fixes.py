"""Mistakes, and programs into which the code of their messages is pasted.

``FIX`` stands for all of the code that the message shows, ``L0``, ``L1`` for its lines, without
their comments; a row without a program runs the code as it is.
"""

from __future__ import annotations

from tests.autojit.errors import fixes_scipy

#: What both programs begin with.
SETUP = """
import dataclasses
import numpy as np, autojit, scipy
from autojit import grad, jacrev, jit, value_and_grad, vmap, fori_loop, scan, custom_vjp
def f(x, *more): return np.sum(np.asarray(x) * 1.0)
x, y, n = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([1, 2])
a, b, i, rng = 3, 2, 1, np.random.default_rng(0)
"""

#: By the name of the place in the sources: the mistake, and the program with the fix.
FIXES: dict[str, tuple[str, str]] = {
    "capture/calls/numbers/methods.py: mantissa, exponent = math.frexp(x)": (
        "jit(lambda x: x.as_integer_ratio())(0.75)",
        "import math\n@jit\ndef g(x):\n    FIX\n    return mantissa, exponent\n"
        "assert g(6.0) == (0.75, 3)",
    ),
    "capture/calls/logic.py: found = False": (
        "@jit\ndef g(xs):\n    log = []\n    def test(v):\n        log.append(v)\n"
        "        return v > 1\n    return any(test(v) for v in xs), len(log)\ng(x)",
        "@jit\ndef g(xs):\n    log = []\n    FIX\n    return found, len(log)\n"
        "assert g(x) == (True, 2)",
    ),
    "capture/calls/numbers/conversions.py: x[0].item()": (
        "jit(lambda x: x.item())(x)",
        "jit(lambda x: L0)(x)\njit(lambda x: L1)(x)",
    ),
    "capture/blocks/regions.py: if x > 0:": (
        "import math\n@jit\ndef g(x):\n    try:\n        y = grad(lambda v: math.log(v))(x)\n"
        "    except ValueError:\n        y = 1.0\n    return y\ng(0.5)",
        "import math\n@jit\ndef g(x):\n    y = 0.0\n    FIX\n    return y\ng(0.5)",
    ),
    "capture/blocks/regions.py: values = list(it)": (
        "import math\n@jit\ndef g(x):\n    it = reversed([2 * x, x])\n    try:\n"
        "        y = math.log(x) + next(it)\n    except ValueError:\n        y = 1.0\n"
        "    return y + next(it)\ng(0.5)",
        "import math\n@jit\ndef g(x):\n    it = reversed([2 * x, x])\n    FIX\n    try:\n"
        "        y = math.log(x) + values[0]\n    except ValueError:\n        y = 1.0\n"
        "    return y + values[1]\ng(0.5)",
    ),
    "capture/blocks/regions.py: with manager:": (
        "import math\nclass Quiet:\n    def __enter__(self): pass\n"
        "    def __exit__(self, *error): pass\nmanager = Quiet()\n"
        "@jit\ndef g(x):\n    try:\n        with manager:\n"
        "            y = math.log(x)\n    except ValueError:\n        y = 0.0\n"
        "    return y\ng(0.5)",
        "import math\nclass Quiet:\n    def __enter__(self): pass\n"
        "    def __exit__(self, *error): pass\nmanager = Quiet()\n"
        "@jit\ndef g(x):\n    FIX\n    return y\ng(0.5)",
    ),
    "control_flow/emission.py: np.all(x > 0)": (
        "autojit.cond(x > 0, lambda v: v, lambda v: -v, x)",
        "autojit.cond(L0, lambda v: v, lambda v: -v, x)",
    ),
    "control_flow/emission.py: np.broadcast_to(y, x.shape).astype(x.dtype)": (
        "autojit.cond(True, lambda v: v, lambda v: v[:1], x)",
        "def short(x):\n    y = x[:1]\n    return L0\nautojit.cond(True, lambda v: v, short, x)",
    ),
    "control_flow/emission.py: xs = np.array(xs)": (
        "scan(lambda c, v: (c + v, c), 0.0, [1.0, 2.0])",
        "xs = [1.0, 2.0]\nFIX\nscan(lambda c, v: (c + v, c), 0.0, xs)",
    ),
    "functions/joining.py: np.concatenate([a, b])": (
        "jit(lambda x: np.concatenate(x, x))(x)",
        "jit(lambda a, b: L0)(x, x)",
    ),
    "functions/joining.py: np.concatenate([np.ravel(part) for part in x])": (
        "jit(lambda x: np.sum(x))([[1.0, 2.0], [3.0]])",
        "jit(lambda x: np.sum(L0))([[1.0, 2.0], [3.0]])\njit(lambda x: L1)([[1.0, 2.0], [3.0]])",
    ),
    "functions/linalg/products.py: a * b": (
        "jit(lambda a, b: a @ b)(x, 2.0)",
        "jit(lambda a, b: L0)(x, 2.0)",
    ),
    "functions/linalg/products.py: np.outer(a, b)": (
        "jit(np.dot)(np.ones(3), np.ones(4))",
        "jit(lambda a, b: L0)(np.ones(3), np.ones(4))",
    ),
    "functions/linalg/products.py: print(a.shape, b.shape)": (
        "jit(np.matmul)(np.ones((2, 3)), np.ones((5, 7)))",
        "def g(a, b):\n    FIX\n    return a @ b\njit(g)(np.ones((2, 3)), np.ones((3, 7)))",
    ),
    "functions/methods.py: x.reshape(-1, 1)": (
        "jit(lambda x: x.view(-1, 1))(x)",
        "jit(lambda x: L0)(x)",
    ),
    "optim/optimizer.py: state = opt.init(params)": (
        "autojit.optim.adam(0.1).step()",
        "opt, params = autojit.optim.adam(0.1), x\nFIX",
    ),
    "session/other_names.py: from numpy import": ("autojit.cumsum(x)", "FIX\ncumsum(x)"),
    "session/advice.py: np.sin(x)": (
        "jnp = __import__('pytest').importorskip('jax.numpy')\n"
        "jit(eval('lambda x: jnp.sum(x)', {'jnp': jnp}))(x)",
        "jit(lambda x: L0)(x)",
    ),
    "session/advice.py: np.…(x, axis=0, keepdims=True)": (
        "jit(lambda x: np.sum(x, dim=0))(x)",
        "jit(lambda x: L0)(x)",
    ),
    "session/advice.py: seen = …; seen[n] = True": (
        "jit(lambda x: {x: 1.0})(1.0)",
        "@jit\ndef g(n):\n    L0\n    return 5 in seen\nL1\njit(lambda i: table[i])(g(5) * 1)",
    ),
    "session/advice.py: y = jit(f)(x)": (
        "import json\njit(lambda x: json.dumps(x))(x)",
        "import json\nL0\njson.dumps(y.tolist()), memoryview(np.asarray(y))",
    ),
    "staging/bodies.py: def body(…): ...": (
        "scan(lambda c: (c, c), 0.0, x)",
        "FIX\ndef body(carry, x): return carry + x, carry\nscan(body, 0.0, x)",
    ),
    "staging/pytrees.py: jit(f)(x, rng.normal(size=3))": (
        "jit(lambda x, rng: x + rng.normal(size=2))(x, rng)",
        "FIX",
    ),
    "staging/pytrees.py: jit(lambda w: f(dataclasses.replace(p, w=w)))(p.w)": (
        "@dataclasses.dataclass\nclass P:\n    name: str\n    w: object\n"
        "jit(lambda p: np.sum(p.w))(P('a', x))",
        "@dataclasses.dataclass\nclass P:\n    name: str\n    w: object\n"
        "def f(p): return np.sum(p.w)\np = P('a', x)\nFIX",
    ),
    "functions/assignment.py: out = np.empty(…, …)": (
        "jit(lambda x: np.cumsum(x, out=np.empty(2)))(np.arange(3.0))",
        "@jit\ndef g(x):\n    FIX\n    return np.cumsum(x, out=out)\ng(np.arange(3.0))",
    ),
    "staging/pytrees.py: list(x)": (
        "jit(lambda s: sum(s))(v for v in [1.0, 2.0])",
        "x = (v for v in [1.0, 2.0])\njit(lambda s: sum(s))(L0)",
    ),
    "torch/nn/utils/parametrize.py: torch.save(model.state_dict(), path)": (
        "import pickle\nfrom autojit import torch\n"
        "model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))\n"
        "pickle.dumps(model)",
        "import os, tempfile\nfrom autojit import torch\n"
        "model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))\n"
        "path = os.path.join(tempfile.mkdtemp(), 'model.npz')\nFIX",
    ),
    "torch/optim/optimizer.py: opt = autojit.optim.adam(lr=0.01)": (
        "autojit.optim.Adam(0.1)",
        "FIX\nopt.init(x)",
    ),
    "tracing/array_methods.py: y = np.delete(y, 0)": (
        "@jit\ndef g(x):\n    y = x.copy()\n    del y[0]\n    return y\ng(x)",
        "@jit\ndef g(x):\n    y = x.copy()\n    FIX\n    return y\ng(x)",
    ),
    "transformations/derivatives.py: pull_back(v)": (
        "autojit.vjp(lambda x: x**2, x)[1]((x,))",
        "v, pull_back = x, autojit.vjp(lambda x: x**2, x)[1]\nFIX",
    ),
    "transformations/derivatives.py: v = np.ones(…)": (
        "autojit.jvp(f, (x,), (np.ones(3),))",
        "FIX\nautojit.jvp(f, (x,), (v,))",
    ),
    "transformations/gradients.py: grad(f)(np.array([1.0, 2.0]))": ("grad(f)(None)", "FIX"),
    "callbacks/numba_functions.py: numba_callback(numba.njit(f), result_types, x)": (
        "autojit.numba_callback(f, 'f64[]', x)",
        "import numba; from autojit import numba_callback, pure_callback\n"
        "def f(x): return np.sum(x)\nresult_types = 'f64[]'\nL0\nL1",
    ),
    'callbacks/pure.py: autojit.…(f, "f64[3]", x)': (
        "autojit.pure_callback(f, 3.5, x) if False else autojit.pure_callback(f, object(), x)",
        "def f(x): return np.ones(3)\nL0",
    ),
    "callbacks/pure.py: return result.astype(np.…)": (
        "jit(lambda x: autojit.pure_callback(lambda x: x * 1.5, 'i64[2]', x))(x)",
        "def g(x):\n    result = x * 1.5\n    FIX\nautojit.pure_callback(g, 'i64[2]', x)",
    ),
    "callbacks/pure.py: @autojit.custom_jvp": (
        "grad(lambda x: autojit.pure_callback(np.sin, 'f64[]', x))(1.0)",
        "sin, derivative, result_types, x = np.sin, np.cos, 'f64[]', 1.0\nFIX\ngrad(smooth)(x)",
    ),
    "capture/values/choice.py: w = np.array([0.1, 0.2]); w[i]": (
        "jit(lambda i: ['a', 'b'][i])(0)",
        "@jit\ndef g(i):\n    FIX\n    return w[i]\ng(1)",
    ),
    "capture/values/choice.py: rows = np.stack(rows)": (
        "@jit\ndef g(x, i):\n    rows = [x, 2 * x]\n    rows[i][0] = 5.0\n    return rows[0]\n"
        "g(x, 1)",
        "value, j = 5.0, 0\n@jit\ndef g(x, i):\n    rows = [x, 2 * x]\n    FIX\n"
        "    return rows\ng(x, 1)",
    ),
    "capture/values/choice.py: grid = np.array(grid)": (
        "@jit\ndef g(x, i):\n    grid = [[x, x], [x, x]]\n    grid[i][0] = 5.0\n"
        "    return grid[1][0]\ng(1.0, 1)",
        "value, j = 5.0, 0\n@jit\ndef g(x, i):\n    grid = [[x, x], [x, x]]\n    FIX\n"
        "    return grid\ng(1.0, 1)",
    ),
    "capture/calls/items.py: table = np.array([0.1, 0.2]); table[i]": (
        "table = {0.5: 1.0, 1.5: 2.0}\njit(lambda k: table[k])(0.5)",
        "@jit\ndef g(i):\n    FIX\n    return table[i]\ng(1)",
    ),
    "capture/calls/items.py: codes = np.frombuffer(text.encode(), np.uint8); codes[i]": (
        "jit(lambda i: 'abc'[i])(1)",
        "text = 'abc'\n@jit\ndef g(i):\n    FIX\n    return codes[i]\ng(1)",
    ),
    "capture/calls/items.py: np.array(xs)[i:i + n]": (
        "xs = (1.0, 2.0, 3.0)\njit(lambda i: sum(xs[i:i + 2]))(1)",
        "xs, n = (1.0, 2.0, 3.0), 2\njit(lambda i: np.sum(L0))(1)",
    ),
    "capture/calls/iteration.py: np.sum(np.where(xs > 0, xs, 0))": (
        "jit(lambda xs: set(filter(lambda x: x > 0, xs)))(x)",
        "jit(lambda xs: L0)(x)",
    ),
    "capture/calls/randomness.py: jit(f)(x, rng.normal(size=3))": (
        "jit(lambda x: x + rng.normal(size=2))(x)",
        "FIX",
    ),
    "capture/calls/clocks.py: jit(f)(x, time.time())": (
        "import time\njit(lambda x: x + time.time())(x)",
        "import time\nL0\nL1\nL2\nL3",
    ),
    "capture/values/scalars.py: np.where(x > 0, x, 0)": (
        "jit(lambda x: bool(x))(x)",
        "jit(lambda x: L0)(x)",
    ),
    "capture/truth.py: np.where(x > 0, x, 0)": (
        "@jit\ndef g(x):\n    if x > 0:\n        return x\n    return 0 * x\ng(x)",
        "jit(lambda x: L0)(x); jit(lambda x: L1)(x)",
    ),
    "capture/values/scalars.py: np.sin(x)": (
        "import math\njit(lambda x: math.sin(x))(x)",
        "jit(lambda x: L0)(x); jit(lambda x: L1)(x); jit(lambda x: L2)(x)",
    ),
    "capture/calls/type_queries.py: isinstance(x, (bool, np.bool_))": (
        "jit(lambda x: x * isinstance(x > 0, bool))(np.float64(1.0))",
        "FIX",
    ),
    "capture/checks.py: def checked(x):": (
        "@vmap\ndef g(x):\n    if x < 0:\n        raise ValueError('negative')\ng(x)",
        "FIX\nvmap(checked)(x)",
    ),
    "callbacks/testing_calls.py: assert np.allclose(x, y, rtol=1e-7, atol=0.0)": (
        "@jit\ndef g(x, y):\n    np.testing.assert_allclose(x, y)\n    return x\ng(x, y)",
        "@jit\ndef g(x, y):\n    FIX\n    return x\ng(x, x)",
    ),
    "capture/runtime.py: result = 1.0": (
        "def fact(n):\n    return 1.0 if n <= 1 else n * sum(map(fact, [n - 1]))\njit(fact)(3.0)",
        "@jit\ndef g(n):\n    FIX\n    return result\nassert g(3.0) == 6.0",
    ),
    "capture/generators.py: for x in list(iterator): ...": (
        "@jit\ndef g(x):\n    def steps(x):\n        while x > 1:\n"
        "            for k in map(float, [1, 2]):\n                yield x * k\n"
        "            x = x / 2\n    return next(steps(x))\ng(100.0)",
        "@jit\ndef g(y):\n    def steps(y):\n        while y > 1:\n"
        "            iterator = map(float, [1, 2])\n            FIX\n            yield y * x\n"
        "            y = y / 2\n    return next(steps(y))\nassert g(100.0) == 200.0",
    ),
    "capture/lists/resumable.py: steps.send(None)": (
        "@jit\ndef g(x):\n    def count(x):\n        while x > 1:\n            yield x\n"
        "            x = x / 2\n    steps = count(x)\n    next(steps)\n"
        "    return steps.throw(ValueError())\ng(100.0)",
        "@jit\ndef g(x):\n    def count(x):\n        while x > 1:\n            yield x\n"
        "            x = x / 2\n    steps = count(x)\n    next(steps)\n"
        "    y = L0\n    return y\nassert g(100.0) == 50.0",
    ),
    "capture/lists/resumable.py: values = list(steps(x))": (
        "@jit\ndef g(x):\n    def steps(x):\n        while x > 1:\n            yield x\n"
        "            x = x / 2\n    s = steps(x)\n    for k, v in enumerate(s):\n"
        "        if v < 30:\n            break\n    return next(s)\ng(100.0)",
        "@jit\ndef g(x):\n    def steps(x):\n        while x > 1:\n            yield x\n"
        "            x = x / 2\n    L0\n    L1\n    return first + second\n"
        "assert g(100.0) == 150.0",
    ),
    "capture/results/late.py: return sum(found), len(found)": (
        "@jit\n@vmap\ndef g(x):\n    found = []\n    while x > 1:\n        x = x / 2\n"
        "        found.append(x)\n    return found\ng(np.array([100.0, 4.0]))",
        "@jit\ndef g(x):\n    found = []\n    while x > 1:\n        x = x / 2\n"
        "        found.append(x)\n    L0\nassert g(4.0) == (3.0, 2)",
    ),
    "capture/state/resized.py: i = 0": (
        "@jit\ndef g(x):\n    queue, n = [0], 0\n    for u, _ in zip(queue, range(9)):\n"
        "        n += 1\n"
        "        if x > n:\n            queue.append(n)\n    return n\ng(3.0)",
        "@jit\ndef g(x):\n    queue, n = [0], 0\n    FIX\n        n += 1\n"
        "        if x > n:\n            queue.append(n)\n    return n\nassert g(3.0) == 3",
    ),
    "capture/state/stretch.py: for x in xs: total += x": (
        "@jit\ndef g(y):\n    xs = [v for v in y if v > 0.5]\n    return max(*xs)\ng(x)",
        "@jit\ndef g(y):\n    total, xs = 0.0, [v for v in y if v > 0.5]\n    L0\n"
        "    return total\ng(x)",
    ),
    "capture/calls/randomness.py: jit(f)(x, …(…))": (
        "import secrets\njit(lambda x: x + secrets.randbelow(6))(1.0)",
        "import secrets\nFIX",
    ),
    "capture/lists/deques.py: for x in list(queue):": (
        "from collections import deque\n@jit\ndef g(y):\n    queue = deque([y, 2 * y])\n"
        "    for x in queue:\n        if x > 1:\n            queue.append(x)\n"
        "    return len(queue)\ng(3.0)",
        "from collections import deque\n@jit\ndef g(y):\n    queue = deque([y, 2 * y])\n"
        "    FIX\n        queue.append(x)\n    return len(queue)\nassert g(3.0) == 4",
    ),
    "capture/state/kinds.py: found.append((x, 0.0))": (
        "@jit\ndef g(x):\n    found = []\n    if x > 1:\n        found.append(x)\n"
        "    if x > 2:\n        found.append((x, x))\n    return len(found)\ng(3.0)",
        "@jit\ndef g(x):\n    found = []\n    if x > 1:\n        L0\n"
        "    if x > 2:\n        found.append((x, x))\n    return len(found)\nassert g(3.0) == 2",
    ),
    "capture/state/kinds.py: points.append((x, y))": (
        "@jit\ndef g(x):\n    points, y = [], 2 * x\n    if x > 1:\n"
        "        points.append([x, y])\n    return len(points)\ng(3.0)",
        "@jit\ndef g(x):\n    points, y = [], 2 * x\n    if x > 1:\n"
        "        L0\n    return len(points)\nassert g(3.0) == 1",
    ),
    "capture/state/kinds.py: rows.append(np.array(table))": (
        "table = np.ones(2)\n@jit\ndef g(x):\n    rows = []\n    if x > 1:\n"
        "        rows.append(table)\n    return len(rows)\ng(3.0)",
        "table = np.ones(2)\n@jit\ndef g(x):\n    rows = []\n    if x > 1:\n"
        "        L0\n    return len(rows)\nassert g(3.0) == 1",
    ),
    "protocols/python_integers.py: float(n) + 2.0**63": (
        "jit(lambda n: n + 2**63)(2**40)",
        "jit(lambda n: L0)(2**40)",
    ),
    "tracing/aliasing.py: rows.append(x.copy())": (
        "@jit\ndef g(x):\n    rows, x = [], x * 1.0\n    if x[0] > 0:\n        rows.append(x)\n"
        "    x -= 1\n    return len(rows)\ng(x)",
        "@jit\ndef g(x):\n    rows, x, step = [], x * 1.0, 1.0\n    if x[0] > 0:\n        L0\n"
        "    L1\n    L2\n    return len(rows)\nassert g(x) == 1",
    ),
    "capture/calls/items.py: y, … = f(x)": (
        "@jit\ndef f(x):\n    if x > 1:\n        globals()['best'] = x\n    return x\nf(2.0)",
        "@jit\ndef f(x):\n    best = 2 * x if x > 1 else 0.0\n    return x, best\nx = 2.0\nL0\n"
        "assert best == 4.0",
    ),
    "tracing/running/asked.py: steps = iter(list(steps))": (
        "@jit\ndef g(x):\n    steps, s = map(float, range(9)), 0.0\n    while s < x:\n"
        "        s = s + next(steps)\n    return s\ng(9.0)",
        "@jit\ndef g(x):\n    steps, s = map(float, range(9)), 0.0\n    FIX\n    while s < x:\n"
        "        s = s + next(steps)\n    return s\nassert g(9.0) == 10.0",
    ),
    "capture/state/heap.py: d = {'a': 0.0, 'b': 0.0}": (
        "class Table(dict): pass\n@jit\ndef g(x):\n    d = Table()\n    while x > 0:\n"
        "        d['a'] = x\n        x = x - 1\n    return d['a']\ng(2.0)",
        "@jit\ndef g(x):\n    FIX\n    while x > 0:\n"
        "        d['a'] = x\n        x = x - 1\n    return d['a']\nassert g(2.0) == 1.0",
    ),
    "capture/lists/views.py: total = sum(d.values())": (
        "@jit\ndef g(k):\n    d = {}\n    d[k] = 1.0\n    return len({**d})\ng(2)",
        "@jit\ndef g(k):\n    d = {}\n    d[k] = 1.0\n    L0\n    return total\ng(2)",
    ),
    "capture/lists/hashed.py: memo[i, j] = x": (
        "@jit\ndef g(i, j):\n    memo = {}\n    memo[i] = 1.0\n    memo[i, j] = 2.0\n"
        "    return memo[i, j]\ng(2, 3)",
        "@jit\ndef g(i, j, x, y):\n    memo, other = {}, {}\n    L0\n    memo = {}\n    L1\n"
        "    return len(memo)\ng(2, 3, 2.0, 1.0)",
    ),
    "capture/lists/hashed.py: memo[n] = (a, b)": (
        "@jit\ndef g(n, a, b):\n    memo = {}\n    memo[n] = [a, b]\n    return memo[n][0]\n"
        "g(2, 1.0, 2.0)",
        "@jit\ndef g(n, a, b):\n    memo = {}\n    L0\n    return memo[n][0]\ng(2, 1.0, 2.0)",
    ),
    "capture/results/kinds.py: jit(lambda x: count(x)[0])": (
        "def count(k):\n    d = {}\n    d[k] = 1.0\n    return d\n"
        "jit(lambda x: jit(count)(x)[0])(0)",
        "def count(k):\n    d = {}\n    d[k] = 1.0\n    return d\nassert L0(0) == 1.0",
    ),
    "capture/results/kinds.py: return {'a': x, 'b': np.nan}": (
        "@jit\ndef f(x):\n    if x > 0:\n        return {'a': x}\n    return [x]\n"
        "jit(lambda x: f(x))(1.0)",
        "@jit\ndef f(x):\n    if x > 0:\n        L0\n    return {'a': np.nan, 'b': x}\n"
        "assert jit(lambda x: f(x))(1.0)['a'] == 1.0",
    ),
    "capture/state/maybe.py: return d.get(0, 0.0), sum(d.values())": (
        "@vmap\ndef g(k):\n    d = {}\n    d[k] = 1.0\n    return d\ng(np.array([2, 3]))",
        "@vmap\ndef g(k):\n    d = {}\n    d[k] = 1.0\n    FIX\ng(np.array([2, 3]))",
    ),
    "tracing/running/leaks.py: def f(n):": (
        "memo = {}\n@jit\ndef g(n):\n    memo[n] = 1.0\n    return memo[n]\ng(2)",
        "FIX\nassert f(2) is None",
    ),
    "capture/state/heap.py: seen = np.zeros(n, bool)": (
        "@jit\ndef g(x):\n    seen = set()\n    if x > 0:\n        seen.add(1)\n"
        "    return len(seen) * x\ng(1.0)",
        "n = 3\n@jit\ndef g(x):\n    L0\n    if x > 0:\n        L1\n"
        "    return np.sum(seen) * x\ng(1.0)",
    ),
    "capture/state/heap.py: self.last = 0.0": (
        "class M: pass\nm = M()\n@jit\ndef g(x):\n    o = M()\n    if x > 0:\n"
        "        o.last = x\n    return o.last\ng(1.0)",
        "class M:\n    def __init__(self):\n        FIX\n@jit\ndef g(x):\n    o = M()\n"
        "    if x > 0:\n        o.last = x\n    return o.last\ng(1.0)",
    ),
    "capture/state/joining.py: np.where(np.arange(len(x)) < n, x, 0)": (
        "@jit\ndef g(x):\n    y = x[:2]\n    if x[0] > 0:\n        y = x[:1]\n"
        "    return np.sum(y)\ng(x)",
        "@jit\ndef g(x):\n    n = 2\n    if x[0] > 0:\n        n = 1\n    return np.sum(L0)\n"
        "g(x)\nL1",
    ),
    "capture/state/joining.py: … = np.zeros(…)": (
        "@jit\ndef g(xs):\n    s = 0\n    for r in xs:\n        if r[0] > 1:\n"
        "            s = s + r\n    return s\ng(np.ones((20, 3)))",
        "@jit\ndef g(xs):\n    FIX\n    for r in xs:\n        if r[0] > 1:\n"
        "            s = s + r\n    return s\ng(np.ones((20, 3)))",
    ),
    "capture/state/joining.py: np.zeros(…)": (
        "@jit\ndef g(rows):\n    return sum(r for r in rows if r[0] > 1)\ng(np.ones((20, 3)))",
        "@jit\ndef g(rows):\n    rows = [r for r in rows]\n    return L1 + L0\n"
        "assert g(np.ones((20, 3))).tolist() == [20.0] * 3",
    ),
    "capture/state/one_of.py: return 1 if x > 0 else 0": (
        "@vmap\ndef g(x):\n    return 'a' if x > 0 else 'b'\ng(x)",
        "@vmap\ndef g(x):\n    L0\ng(x)",
    ),
    "capture/state/one_of.py: if kind == 'b': ...": (
        "@jit\ndef g(x):\n    kind = 'a' if x > 0 else 'b'\n    print(f'{kind}')\n"
        "    return x\ng(1.0)",
        "@jit\ndef g(x):\n    kind = 'a' if x > 0 else 'b'\n    L0\n    return x\ng(1.0)",
    ),
    "capture/state/joining.py: kind = 1": (
        "@jit\ndef g(x):\n    kind = 0\n    if x > 0:\n        kind = 'b'\n    return kind\ng(1.0)",
        "@jit\ndef g(x):\n    kind = 0\n    if x > 0:\n        L0\n    return kind\ng(1.0)\nL1",
    ),
    "capture/values/unbound.py: … = np.zeros(…)": (
        "@jit\ndef g(x):\n    if x[0] > 0:\n        y = x + 1\n    y[0] = 2.0\n    return y\ng(x)",
        "@jit\ndef g(x):\n    FIX\n    if x[0] > 0:\n        y = x + 1\n    y[0] = 2.0\n"
        "    return y\ng(x)",
    ),
    "control_flow/emission.py: init.astype(np.…)": (
        "jit(lambda xs: scan(lambda c, x: (c + x, None), np.array(0), xs))(x)",
        "init = np.array(0)\njit(lambda xs: scan(lambda c, x: (c + x, None), L0, xs))(x)",
    ),
    "control_flow/emission.py: fori_loop(0, n, lambda i, carry: ..., init)": (
        "jit(lambda n: scan(lambda c, x: (c, None), 0.0, None, length=n))(3)",
        "init = 0.0\njit(lambda n: fori_loop(0, n, lambda i, carry: carry + 1.0, init))(3)",
    ),
    "control_flow/emission.py: n.astype(int)": (
        "jit(lambda n: fori_loop(0, n, lambda i, c: c + 1.0, 0.0))(3.0)",
        "jit(lambda n: fori_loop(0, L0, lambda i, c: c + 1.0, 0.0))(3.0)",
    ),
    "control_flow/emission.py: init = np.zeros(…)": (
        "jit(lambda xs: scan(lambda c, x: (np.append(c, x)[:3], None), np.ones(2), xs))(x)",
        "FIX\njit(lambda xs: scan(lambda c, x: (np.append(c, x)[:3], None), init, xs))(x)",
    ),
    "control_flow/emission.py: return carry, None": (
        "jit(lambda xs: scan(lambda c, x: c + x, 0.0, xs))(x)",
        "def step(carry, x):\n    carry = carry + x\n    FIX\n"
        "jit(lambda xs: scan(step, 0.0, xs))(x)",
    ),
    "dispatch/jit_function.py: jit(f)": (
        "jit(f, donate_argnums=0)",
        "FIX",
    ),
    "dispatch/jit_function.py: jit(f, check='first')": (
        "jit(f, check=True)",
        "FIX",
    ),
    "dispatch/jit_function.py: jit(f, device='cuda')": (
        "jit(f, device='gpu')",
        "FIX",
    ),
    "dispatch/once.py: y, … = jit(f)(x, …)": (
        "calls = 0\n@jit\ndef g(x):\n    global calls\n    calls += 1\n    return x * calls\n"
        "g(1.0)",
        "calls = 0\ndef f(x, calls):\n    calls += 1\n    y = x * calls\n    return y, calls\nL0",
    ),
    "dispatch/once.py: fast = jit(…)": (
        "for _ in range(10):\n    jit(lambda x: x * 3.25)(1.0)",
        "FIX",
    ),
    "dispatch/outside.py: …(x, …)": (
        "rate = 1.0\ng = jit(lambda x: x * rate)\ng(1.0)\nrate = 2.0\ng(1.0)",
        "rate = 2.0\nf = jit(lambda x, rate: x * rate)\nFIX",
    ),
    "dispatch/outside.py: … = jit(….__wrapped__)": (
        "def h(x): return x\ng = jit(lambda x: h(x))\ng(1.0)\ndef h(x): return 2 * x\ng(1.0)",
        "f = jit(f)\nFIX",
    ),
    "dispatch/retraces.py: f(np.pad(x, (0, size - len(x))), len(x))": (
        "g = jit(lambda x: np.sum(x))\nfor k in range(1, 9):\n    g(np.ones(k))",
        "size = 8\nf = jit(lambda x, length: np.sum(np.where(np.arange(8) < length, x, 0)))\nFIX",
    ),
    "session/calls_of_ours.py: …(f)(x)": (
        "jit(f, x)",
        "FIX",
    ),
    "functions/indices.py: x[..., 0]": (
        "jit(lambda x: x['a'])(x)",
        "jit(lambda x: L0)(x)",
    ),
    "protocols/ufunc_plans.py: x**2": (
        "jit(lambda x: x ^ 2)(x)",
        "jit(lambda x: L1)(x)",
    ),
    "staging/settings.py: @…": (
        "class A:\n    @jit\n    @classmethod\n    def loss(cls, x): return np.sum(x)",
        "class A:\n    FIX\n    def loss(cls, x): return np.sum(x)\nA.loss(x)",
    ),
    "staging/settings.py: @…(…=…)": (
        "@grad(0)\ndef g(x): return np.sum(x)",
        "FIX\ndef g(x): return np.sum(x)\ng(x)",
    ),
    "transformations/batching.py: vmap(f)(np.array([1.0, 2.0]))": (
        "vmap(f)(1.0)",
        "FIX",
    ),
    "transformations/batching.py: vmap(f, out_axes=…)": (
        "vmap(f, out_axes=1)(x)",
        "FIX",
    ),
    "transformations/derivatives.py: autojit.stop_gradient(f(x))": (
        "grad(lambda x: autojit.stop_gradient(f)(x))(x)",
        "FIX",
    ),
    "transformations/gradients.py: return loss, extra": (
        "grad(f, has_aux=True)(x)",
        "def g(x):\n    loss, extra = f(x), x\n    FIX\ngrad(g, has_aux=True)(x)",
    ),
    "staging/settings.py: …(f)(x)": (
        "grad(f, x)",
        "FIX",
    ),
    "staging/pytrees.py: sorted(x)": (
        "grad(f)({1.0, 2.0})",
        "x = {1.0, 2.0}\ngrad(f)(L0)",
    ),
    "staging/pytrees.py: @dataclasses.dataclass": (
        "class P:\n    def __init__(self):\n        self.w = 1.0\ngrad(lambda p: p.w ** 2)(P())",
        "L0\nclass P:\n    w: float\nassert grad(lambda p: p.w ** 2)(P(2.0)).w == 4.0",
    ),
    "staging/pytrees.py: … = params.pop(…)": (
        "grad(lambda p: p['w'])({'w': 1.0, 'kind': 'a'})",
        "params = {'w': 1.0, 'kind': 'a'}\nFIX\ngrad(lambda p: p['w'])(params)",
    ),
    "staging/pytrees.py: return loss": (
        "jit(lambda x: {'day': object(), 'loss': x})(1.0)",
        "day = object()\ndef f(x):\n    loss = np.sum(x)\n    L0\nL1",
    ),
    "functions/assignment.py: x = value": (
        "@jit\ndef g(x):\n    y = np.sum(x)\n    y[...] = 1.0\n    return y\ng(x)",
        "value = 1.0\nFIX",
    ),
    "functions/assignment.py: x[i] = z.real": (
        "@jit\ndef g(x, z):\n    y = x.copy()\n    y[0] = z\n    return y\ng(x, 1j)",
        "@jit\ndef g(x, z):\n    x = x.copy()\n    L0\n    L1\n    return x\ng(x, 1j)",
    ),
    "functions/assignment.py: x[:len(v)] = v": (
        "@jit\ndef g(x):\n    y = x.copy()\n    y[:] = np.ones(3)\n    return y\ng(x)",
        "v = np.ones(1)\n@jit\ndef g(x):\n    x = x.copy()\n    FIX\n    return x\ng(x)",
    ),
    "functions/bounded/array.py: np.where(np.arange(len(x)) < i, x, 0)": (
        "jit(lambda x, i: vmap(lambda row: row[:i])(x[None]))(x, 1)",
        "m = x > 0\njit(lambda x, i: L0)(x, 1); jit(lambda x: L1)(x); jit(lambda x: L2)(x)",
    ),
    "functions/linalg/factorizations.py: x = np.linalg.solve(a, b[..., None])[..., 0]": (
        "a, b = np.ones((4, 2, 2)) + np.eye(2), np.ones((4, 2))\n"
        "jit(np.linalg.solve)(a, np.ones((4, 3)))",
        "a, b = np.ones((4, 2, 2)) + np.eye(2), np.ones((4, 2))\nFIX",
    ),
    "functions/reductions.py: np.…(x, where=mask, initial=…)": (
        "jit(lambda x: np.max(x, where=x > 1))(x)",
        "mask = x > 1\njit(lambda x, mask: L0)(x, mask)",
    ),
    "functions/selecting.py: np.where(x > 0, x, 0)": (
        "jit(np.trim_zeros)(x)",
        "jit(lambda x: L0)(x)",
    ),
    "functions/selecting.py: s = np.sort(x)": (
        "jit(np.unique)(x)",
        "@jit\ndef g(x):\n    FIX\n    return np.sum(first)\n"
        "assert g(np.array([1.0, 2.0, 1.0])) == 2",
    ),
    "functions/selecting.py: np.isin(x, y)": (
        "jit(np.intersect1d)(x, y)",
        "jit(lambda x, y: L0)(x, y)",
    ),
    "functions/statistics/histograms.py: np.bincount(x, weights, minlength=n)": (
        "jit(np.bincount)(n)",
        "x, n, weights = n, 4, None\njit(lambda x: L0)(x)",
    ),
    "functions/statistics/histograms.py: …(x, bins=10, range=(0.0, 1.0))": (
        "jit(lambda x: np.histogram(x, bins='auto'))(x)",
        "jit(lambda x: L0)(x)",
    ),
    "interception/patches.py: for at in np.ndindex(x.shape): x[at]": (
        "@jit\ndef g(x):\n    for v in np.nditer(x):\n        pass\n    return x\ng(x)",
        "@jit\ndef g(x):\n    L0\n    return x\ng(x)",
    ),
    "protocols/lifting.py: np.mean(x, axis=1, keepdims=True)": (
        "jit(lambda x: x + np.ones(3))(x)",
        "x = np.ones((2, 3))\njit(lambda x: x - L0)(x)",
    ),
    "protocols/registry.py: …": (
        "jit(lambda x, n: np.zeros(n) + x)(1.0, 3)",
        "n, f = 3, lambda x, n: np.sum(np.zeros(n) + x)\nx = 1.0\nL0(x, n)\nL1\n"
        "jit(lambda n: np.sum(L2))(3)",
    ),
    "profiling/profile.py: with autojit.profile() as p:": (
        "autojit.profile().seconds",
        "FIX",
    ),
    "session/calls_of_ours.py: …(f)": (
        "jit(f, nopython=True)",
        "FIX",
    ),
    "testing.py: with assert_no_retrace():": (
        "from autojit.testing import assert_no_retrace\nwith assert_no_retrace(f): pass",
        "from autojit.testing import assert_no_retrace\nFIX f(x)",
    ),
    "tracing/aliasing.py: y = x.copy()": (
        "@jit\ndef g(x):\n    np.broadcast_to(x, (3, 2))[0] = 1.0\n    return x\ng(x + 0)",
        "@jit\ndef g(x):\n    FIX\n    y[0] = 1.0\n    return y\ng(x)",
    ),
    "tracing/array_methods.py: x = x + y": (
        "@jit\ndef g(x, y):\n    z = x + 0\n    z += y\n    return z\ng(n, y)",
        "FIX",
    ),
    "tracing/context.py: def f(x):": (
        "log = []\n@jit\ndef g(x):\n    log.append(x * 2)\n    return x\ng(1.0)",
        "loss = 1.0\nFIX\nf(1.0)",
    ),
    "tracing/recording.py: try:": (
        "@jit\ndef g(x):\n    try:\n        return np.linalg.cholesky(x)\n"
        "    except np.linalg.LinAlgError:\n        return x\ng(np.eye(2))",
        "FIX",
    ),
    "capture/calls/calling.py: print(… % f(x))": (
        "jit(lambda x: '%d' % x)(1.0)",
        "f = lambda x: 2 * x\nx = 1.0\nFIX",
    ),
    "capture/calls/warning_filters.py: y = jit(f)(x)": (
        "import warnings\n@jit\ndef g(x):\n    with warnings.catch_warnings():\n"
        "        warnings.simplefilter('error')\n        return np.log(x)\ng(x)",
        "f = np.log\nFIX",
    ),
    "capture/calls/items.py: rows = np.array(rows)": (
        "@jit\ndef g(x, k):\n    rows = [[x, 1.0], [2.0, x]]\n"
        "    rows[0], rows[k] = rows[k], rows[0]\n    return rows[0][1]\ng(3.0, 1)",
        "@jit\ndef g(x, k):\n    i = 0\n    rows = [[x, 1.0], [2.0, x]]\n    L0\n    L1\n"
        "    return rows[0][1]\ng(3.0, 1)",
    ),
    "capture/values/choice.py: row = list(rows[i])": (
        "@jit\ndef g(x, i):\n    rows = [[x, 1.0], [2.0, x]]\n    row = rows[i]\n"
        "    rows[0][0] = 9.0\n    return row[0]\ng(3.0, 1)",
        "@jit\ndef g(x, i):\n    rows = [[x, 1.0], [2.0, x]]\n    FIX\n    rows[0][0] = 9.0\n"
        "    return row[0]\ng(3.0, 1)",
    ),
    "functions/indexing.py: np.take(x, i.astype(int))": (
        "jit(lambda i: np.take(x, i))(np.ones(2))",
        "i = np.ones(2)\nFIX",
    ),
    "session/advice.py: y = np.where(x > 0, a, b)": (
        "exec('def g(x):\\n    return x if x > 0 else -x', globals())\njit(g)(1.0)",
        "@jit\ndef g(x):\n    L0\n    return y\ng(1.0)",
    ),
    "session/advice.py: np.take(table, i)": (
        "table = np.array([1.0, 2.0])\n"
        "exec('def g(i): return table.__getitem__(i)', globals())\njit(g)(1)",
        "table = np.array([1.0, 2.0])\njit(lambda i: L0)(1)",
    ),
    "tracing/tracer.py: jit(f)(x).": (
        "jit(lambda x: x.tobytes())(x)",
        "jit(lambda x: x)(x).tobytes()",
    ),
    "tracing/tracer.py: print(f'{x}')": (
        "jit(lambda x: f'{x:.2f}')(1.0)",
        "f = lambda x: 2 * x\nx = 1.0\nFIX",
    ),
    "capture/values/type_tests.py: y = 0.0 if x > 1 else x": (
        "@jit\ndef g(x):\n    y = 0 if x > 1 else x\n    return y if isinstance(y, int) else -y\n"
        "g(2.0)",
        "@jit\ndef g(x):\n    FIX\n    return y if isinstance(y, int) else -y\ng(2.0)",
    ),
    "session/advice.py: print(f'…')": (
        "jit(lambda x: {f'{x}': x})(1.0)",
        "x = 1.0\nL0",
    ),
    "tracing/values.py: np.asarray(x)": (
        "jit(lambda x: x)(np.ma.masked_array(x, [True, False]))",
        "FIX",
    ),
    "transformations/batching.py: vmap(f, in_axes=…)": (
        "vmap(f, in_axes=1)(x)",
        "FIX",
    ),
    "transformations/batching.py: vmap(f, in_axes=(0, None))(x, y)": (
        "vmap(np.dot)(np.ones((2, 3)), np.ones((4, 3)))",
        "f, x, y = np.dot, np.ones((2, 3)), np.ones((4, 3))\nL1\ny = np.ones(3)\nL0",
    ),
    "transformations/batching.py: vmap(f, …=0)": (
        "vmap(f, in_axes='a')",
        "FIX",
    ),
    "transformations/batching.py: vmap(f, in_axes=(0, None))(x, w)": (
        "vmap(lambda x, w: x * w)(x, 2.0)",
        "f, w = lambda x, w: x * w, 2.0\nFIX",
    ),
    "transformations/batching.py: vmap(f, …=(…))": (
        "vmap(f, in_axes=(0,))(x, y)",
        "FIX",
    ),
    "transformations/derivatives.py: …(lambda x: f(n, x), x)": (
        "autojit.vjp(f, n)",
        "from autojit import vjp\nFIX",
    ),
    "transformations/derivatives.py: jvp(f, (x,), (v,))": (
        "autojit.jvp(f, x, y)",
        "from autojit import jvp\nv = y\nFIX",
    ),
    "transformations/gradients.py: grad(f, holomorphic=True)(z)": (
        "grad(lambda z: z * 1j)(1.0 + 0j)",
        "f, z = lambda z: z * 1j, 1.0 + 0j\nFIX",
    ),
    "transformations/gradients.py: grad(lambda x: np.max(x))(x)": (
        "grad(np.argmax)(x)",
        "FIX",
    ),
    "transformations/gradients.py: grad(f)(x)": (
        "grad(f)(x=x)",
        "FIX",
    ),
    "transformations/gradients.py: grad(f, argnums=…)": (
        "grad(f, argnums=3)(x)",
        "FIX",
    ),
    "transformations/gradients.py: … = float(…)": (
        "grad(lambda p: p['w'])({'w': 1.0, 'steps': 3})",
        "p = {'w': 1.0, 'steps': 3}\nFIX\ngrad(lambda p: p['w'] * p['steps'])(p)",
    ),
    "transformations/gradients.py: return loss": (
        "def g(x):\n    x * 2\ngrad(g)(1.0)",
        "def g(x):\n    loss = x * 2\n    FIX\ngrad(g)(1.0)",
    ),
    "transformations/gradients.py: grad(f, has_aux=True)": (
        "grad(lambda x: (x, x))(1.0)",
        "FIX",
    ),
    "transformations/gradients.py: grad(lambda x: f(x).sum())(x)": (
        "grad(lambda x: x * 2)(x)",
        "FIX",
    ),
    "transformations/jacobians.py: x.astype(float)": (
        "jacrev(f)(n)",
        "x = n\nFIX",
    ),
    "validation/gradients.py: jit(f)": (
        "jit(lambda n: n, check='first')(3)",
        "FIX",
    ),
    "validation/nans.py: autojit.explain_nan(f, x)": (
        "autojit.explain_nan(f(x))",
        "FIX",
    ),
    "capture/calls/items.py: k = np.arange(100)": (
        "jit(lambda n: np.mgrid[0:n].sum())(3)",
        "x = np.ones(100)\n@jit\ndef g(n):\n    FIX\n"
        "    return np.sum(np.where(k < n, k * x, 0.0))\nassert g(3) == 3.0",
    ),
    "capture/calls/iteration.py: total = 0.0": (
        "import itertools\njit(lambda x: set(itertools.takewhile(lambda v: v < 1.5, x)))(x)",
        "@jit\ndef g(x):\n    FIX\n    return total\n"
        "assert g(np.array([1.0, 0.25, 2.0, 1.0])) == 1.25",
    ),
    "capture/loops.py: def scaled(v, w):": (
        "@jit\ndef g(x):\n    h, k = np.sin, 0.0\n    while k < x:\n        k += 1\n"
        "        if x > 3:\n            h = lambda v, w=k: v + w\n    return h(x)\ng(4.0)",
        "@jit\ndef g(x):\n    y = 1.0\n    FIX\n    return y\nassert g(x) == 2.0",
    ),
    "dispatch/jit_function.py: jit(f, …)": ("jit(f, static_argnums=1.5)", "FIX"),
    "torch/engine/views.py: y = x + torch.diag_embed(d)": (
        "import autojit.torch as torch\n@torch.compile\ndef g(x):\n    y = x * 2\n"
        "    y.diagonal().add_(1.0)\n    return y.sum()\ng(torch.ones(2, 2))",
        "import autojit.torch as torch\nx, d = torch.ones(2, 2), torch.ones(2)\nFIX",
    ),
    "torch/engine/backward.py: y.sum().backward()": (
        "import autojit.torch as torch\n(torch.ones(3, requires_grad=True) * 2).backward()",
        "import autojit.torch as torch\ny = torch.ones(3, requires_grad=True) * 2\nL0\n"
        "y = torch.ones(3, requires_grad=True) * 2\nL1",
    ),
    "torch/utils/checkpoint.py: scale = next(scales)": (
        "import autojit.torch as torch\nfrom autojit.torch.utils.checkpoint import checkpoint\n"
        "x = torch.ones(2, requires_grad=True)\nruns = [lambda x: (x * 2).sin(), lambda x: x * 2]\n"
        "checkpoint(lambda x: runs.pop(0)(x), x, use_reentrant=False).sum().backward()",
        "import autojit.torch as torch\nfrom autojit.torch.utils.checkpoint import checkpoint\n"
        "x = torch.ones(2, requires_grad=True)\nscales = iter([2.0, 3.0])\nFIX\ny.sum().backward()",
    ),
    "torch/autograd/checking.py: x = x.detach().double().requires_grad_()": (
        "import autojit.torch as torch\n"
        "x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)\n"
        "torch.autograd.gradcheck(torch.sin, x)",
        "import autojit.torch as torch\nf = torch.sin\n"
        "x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)\nFIX",
    ),
    "torch/engine/backward.py: y.abs().backward()": (
        "import autojit.torch as torch\n(torch.ones((), requires_grad=True) * 2j).backward()",
        "import autojit.torch as torch\ny = torch.ones((), requires_grad=True) * 2j\nL0\n"
        "y = torch.ones((), requires_grad=True) * 2j\nL1",
    ),
    "torch/engine/backward.py: def hook(x):": (
        "import autojit.torch as torch\nx = torch.ones(2, requires_grad=True)\n"
        "x.register_post_accumulate_grad_hook(lambda x: x.grad.mul_(2))\nx.sum().backward()",
        "import autojit.torch as torch\nx = torch.ones(2, requires_grad=True)\nFIX\n"
        "x.register_post_accumulate_grad_hook(hook)\nx.sum().backward()\n"
        "assert x.grad.tolist() == [2.0, 2.0]",
    ),
    "torch/engine/tensor.py: y = x[0].detach()": (
        "import autojit.torch as torch\ntorch.ones(2, requires_grad=True)[0].detach_()",
        "import autojit.torch as torch\nx = torch.ones(2, requires_grad=True)\nFIX\n"
        "assert not y.requires_grad",
    ),
    "torch/functions/indexing.py: torch.gather(x, 0, index)": (
        "import autojit.torch as torch\nx, index = torch.ones(2), torch.tensor([1])\n"
        "torch.gather(x, 0, index, sparse_grad=True)",
        "import autojit.torch as torch\nx, index = torch.ones(2), torch.tensor([1])\nFIX",
    ),
    "torch/engine/gradients.py: x.requires_grad_()": (
        "import autojit.torch as torch\ntorch.ones(3).sum().backward()",
        "import autojit.torch as torch\nx = torch.ones(3)\nFIX\nx.sum().backward()",
    ),
    "torch/engine/nodes.py: y.backward(retain_graph=True)": (
        "import autojit.torch as torch\nx = torch.ones(3, requires_grad=True)\n"
        "y = (x * x).sum()\ny.backward()\ny.backward()",
        "import autojit.torch as torch\nx = torch.ones(3, requires_grad=True)\n"
        "y = (x * x).sum()\nFIX\ny.backward()",
    ),
    "torch/engine/views.py: with torch.no_grad():": (
        "import autojit.torch as torch\nw = torch.ones(3, requires_grad=True)\n"
        "(w * w).sum().backward()\nw -= 0.1 * w.grad",
        "import autojit.torch as torch\nw = torch.ones(3, requires_grad=True)\n"
        "(w * w).sum().backward()\nFIX",
    ),
    "torch/nn/functional/layers.py: nn.Linear(…, …)": (
        "import autojit.torch as torch\ntorch.nn.Linear(3, 2)(torch.ones(4, 5))",
        "from autojit.torch import nn\nimport autojit.torch as torch\nL0(torch.ones(4, 5))",
    ),
    "torch/nn/functional/shells.py: x.to(torch.…)": (
        "import autojit.torch as torch\ntorch.nn.Linear(2, 2)(torch.from_numpy(np.ones((3, 2))))",
        "import autojit.torch as torch\nx = torch.from_numpy(np.ones((3, 2)))\n"
        "torch.nn.Linear(2, 2)(L0)",
    ),
    'torch/engine/shapes.py: autojit.jit(f, device="cuda")': (
        "import autojit.torch as torch\ntorch.ones(3).cuda()",
        "FIX",
    ),
    "scipy/arguments.py: jit(f, static_argnums=1)": (
        "jit(lambda x, w: scipy.signal.savgol_filter(x, w, 2))(np.ones(9), 5)",
        "FIX",
    ),
    "scipy/linalg/singular_values.py: np.linalg.svd(a).Vh[r:].conj().T": (
        "jit(scipy.linalg.null_space)(np.ones((2, 2)))",
        "a, r = np.ones((2, 2)), 1\njit(lambda a: L0)(a)",
    ),
    "scipy/signal/systems.py: freqs(b, a, np.logspace(-1, 2, 200))": (
        "jit(lambda b: scipy.signal.freqs(b, [1.0, 2.0])[1])(x)",
        "from scipy.signal import freqs\na = np.ones(2)\njit(lambda b: L0)(x)",
    ),
    "scipy/stats/samples.py: noise = rng.standard_normal(n)": (
        "import scipy.stats\njit(lambda m: scipy.stats.norm(m).rvs(3))(1.0)",
        "n, loc, scale, mean, std, mu, sigma = 3, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0\nL0",
    ),
    "scipy/stats/distributions.py: from scipy.optimize import minimize": (
        "import scipy.stats\njit(lambda x: scipy.stats.norm.fit(x))(np.array([0.5, 1.0, 3.0]))",
        "import scipy.stats\nstart = np.array([1.0, 1.0])\n@jit\ndef g(data):\n    L0\n    L1\n"
        "    return fitted\ndata = np.array([0.5, 1.0, 3.0])\n"
        "np.testing.assert_allclose(g(data), scipy.stats.norm.fit(data), rtol=1e-5)",
    ),
    "functions/indices.py: row = x[i]; row[:, mask] = 0": (
        "@jit\ndef g(x, m):\n    x = x.copy()\n    x[0, :, m] = 0\n    return x\n"
        "g(np.ones((2, 3, 2)), np.array([True, False]))",
        "@jit\ndef g(x, mask):\n    x = x.copy()\n    FIX\n    return x\n"
        "assert g(np.ones((2, 3, 2)), np.array([True, False])).sum() == 9",
    ),
    "functions/bounded/slices.py: x[start + step * np.arange(n)]": (
        "jit(lambda x, k: x[::k])(x, 1)",
        "start, step, n = 0, 1, 2\njit(lambda x, step: L0)(x, 1)",
    ),
    "interception/patches.py: y = jit(f)(x)": (
        "jit(lambda x: (np.save('x.npy', x), x)[1])(x)",
        "L0",
    ),
    "tracing/array_methods.py: x.__array_namespace__()": (
        "jit(lambda x: x.__array_namespace__(api_version='1999.12').sum(x))(x)",
        "jit(lambda x: L0.sum(x))(x)",
    ),
    'tracing/array_methods.py: jit(f, device="cuda")': (
        "jit(lambda x: x.to_device('cuda'))(x)",
        "FIX",
    ),
    "control_flow/ufunc_methods.py: np.bincount(part, weights=x, minlength=n)": (
        "jit(lambda x, i: np.add.reduceat(x, i))(x, np.array([0, 1]))",
        "part, n = np.array([0, 1]), 2\njit(lambda x, part: L0)(x, part)",
    ),
    "dispatch/retraces.py: f(x.astype(np.float64))": (
        "g = jit(lambda x: x * 2)\nfor k in ('f4', 'f8', 'i4', 'i8', 'i2', 'u1', 'u2'):\n"
        "    g(np.ones(2, k))",
        "f = jit(lambda x: x * 2)\nFIX",
    ),
    "dispatch/retraces.py: jit(f)": (
        "g = jit(lambda x, k: x * k, static_argnums=1)\nfor k in range(9):\n    g(1.0, k)",
        "FIX",
    ),
    "drawing/programs/picture.py: autojit.make_dot(x)": (
        "from autojit.drawing import picture\npicture(3)",
        "from autojit import Value\nx = Value(1.0) * 2\nFIX",
    ),
    "drawing/programs/picture.py: picture(…, …)": (
        "from autojit.drawing import picture\npicture(lambda x: x * 2)",
        "from autojit.drawing import picture\nf = lambda x: x * 2\nFIX",
    ),
    'drawing/programs/picture.py: picture(grad(f), x, stage="loops")': (
        "from autojit.drawing import picture\n"
        "picture(lambda x: x * 2, 1.0, stage='loops', adjoint=True)",
        "from autojit.drawing import picture\nf, x = lambda x: x * 2, 1.0\nFIX",
    ),
    "drawing/programs/whole.py: picture(lambda x: f(x).sum(), x, adjoint=True)": (
        "from autojit.drawing import picture\npicture(lambda x: x * 2, x, adjoint=True)",
        "from autojit.drawing import picture\nf = lambda x: x * 2\nFIX",
    ),
    "scipy/integrate/initial_value.py: y0.astype(complex)": (
        "from autojit.scipy.integrate import solve_ivp\n"
        "jit(lambda y: solve_ivp(lambda t, y: 1j * y, (0, 1), y, t_eval=[0, 1]).y)(x)",
        "y0 = x\nFIX",
    ),
    "scipy/integrate/quadrature.py: quad(lambda x: f(x) * np.cos(w * x), a, b)": (
        "jit(lambda c: scipy.integrate.quad(lambda x: c * x, 0, 1, weight='cos', "
        "wvar=2.0)[0])(1.0)",
        "import scipy.integrate\nfrom scipy.integrate import quad\na, b = 0.0, 1.0\n"
        "jit(lambda w: L0[0])(2.0)",
    ),
    "scipy/interpolate/triangulated.py: RBFInterpolator(points, values)(xi)": (
        "import scipy.interpolate\np = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])\n"
        "jit(lambda p: scipy.interpolate.griddata(p, np.ones(4), p + 0.1))(p)",
        "from scipy.interpolate import RBFInterpolator\n"
        "points = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])\nxi = points / 2\n"
        "jit(lambda values: L0)(np.ones(4))",
    ),
    "scipy/sparse/linalg.py: expm_multiply(A * t, B)": (
        "import scipy.sparse.linalg\n"
        "jit(lambda A: scipy.sparse.linalg.expm_multiply(A, x, start=0, stop=1, "
        "num=3))(np.eye(2))",
        "from scipy.sparse.linalg import expm_multiply\nt, B = 0.5, x\n"
        "jit(lambda A: L0)(np.eye(2))",
    ),
    "staging/containers.py: … = …(…)": (
        "@jit\ndef g(p):\n    p['w'] = p['w'] * 2\n    return p['w']\ng({'w': 1.0})",
        "@jit\ndef g(p):\n    FIX\n    p['w'] = p['w'] * 2\n    return p['w']\ng({'w': 1.0})",
    ),
    "staging/pytrees.py: setting = params.pop(…)": (
        "grad(lambda p: p['w'])({'w': 1.0, 'a kind': 'a'})",
        "params = {'w': 1.0, 'a kind': 'a'}\nFIX\ngrad(lambda p: p['w'])(params)",
    ),
    "torch/engine/views.py: y = x.expand(3, 2).clone()": (
        "import autojit.torch as torch\ntorch.ones(1, 2).expand(3, 2).add_(1)",
        "import autojit.torch as torch\nx = torch.ones(1, 2)\nFIX\ny.add_(1)",
    ),
    "torch/surroundings.py: compiled(torch.as_tensor(x))": (
        "import autojit.torch as torch\ntorch.compile(lambda x: x * 2)(x)",
        "import autojit.torch as torch\ncompiled = torch.compile(lambda x: x * 2)\nFIX",
    ),
    "tracing/array_methods.py: np.sin(x)": (
        "import torch\njit(lambda x: torch.sin(x))(x)",
        "jit(lambda x: L0)(x)",
    ),
    "transformations/gradients.py: …(…)": (
        "grad(f)(3)",
        "FIX",
    ),
    "transformations/rules.py: x.astype(np.…)": (
        "g = autojit.custom_jvp(lambda x: x * 2.0)\n"
        "g.defjvp(lambda p, t: (p[0] * 2.0, t[0] * 1j))\ngrad(g)(1.0)",
        "FIX",
    ),
    "ode.py: y0.astype(complex)": (
        "from autojit.ode import odeint\n"
        "jit(lambda y: odeint(lambda y, t: 1j * y, y, np.array([0.0, 1.0])))(x)",
        "y0 = x\nFIX",
    ),
    "capture/calls/logic.py: if best is not None and best == x: ...": (
        "@jit\ndef g(x):\n    best = None\n    if x > 0:\n        best = x\n"
        "    return 1.0 if best is x else 0.0\ng(1.0)",
        "@jit\ndef g(x):\n    best = None\n    if x > 0:\n        best = x\n"
        "    if best is not None and best == x: return 1.0\n    return 0.0\ng(1.0)\n"
        "l = '''L0'''",
    ),
    "capture/state/optional.py: if x is not None: np.…(x)": (
        "@jit\ndef g(x):\n    y = None\n    if x > 0:\n        y = x\n    return np.sum(y)\ng(1.0)",
        "@jit\ndef g(x):\n    if x > 0:\n        pass\n    FIX\n    return x\ng(1.0)",
    ),
    "scipy/interpolate/fitted.py: make_smoothing_spline(x, y, lam=1.0)": (
        "from scipy.interpolate import make_smoothing_spline\nt = np.arange(8.0)\n"
        "jit(lambda y: make_smoothing_spline(t, y)(1.5))(np.sin(t))",
        "from scipy.interpolate import make_smoothing_spline\nx = np.arange(8.0)\n@jit\n"
        "def g(y):\n    s = L0\n    return s(1.5)\ng(np.sin(x))",
    ),
    "scipy/signal/filtering.py: sosfiltfilt(sos, x, padlen=3 * (2 * len(sos) + 1))": (
        "from scipy.signal import butter, sosfiltfilt\n"
        "jit(lambda c: sosfiltfilt(butter(2, c, output='sos'), np.ones(50)))(0.3)",
        "from scipy.signal import butter, sosfiltfilt\nx = np.ones(50)\n@jit\ndef g(c):\n"
        "    sos = butter(2, c, output='sos')\n    return L0\ng(0.3)",
    ),
    "scipy/sparse/direct.py: spsolve(A, b.toarray())": (
        "import scipy.sparse.linalg\nA = scipy.sparse.eye_array(3, format='csc')\n"
        "jit(lambda k: scipy.sparse.linalg.spsolve(A, k * A))(2.0)",
        "from scipy.sparse.linalg import spsolve\nA = scipy.sparse.eye_array(3, format='csc')\n"
        "@jit\ndef g(k):\n    b = k * A\n    return L0\ng(2.0)",
    ),
    "scipy/sparse/matrices.py: A + x * scipy.sparse.eye_array(n)": (
        "A = scipy.sparse.eye_array(3, format='csr')\njit(lambda k: (k * A) + k)(2.0)",
        "A, n = scipy.sparse.eye_array(3, format='csr'), 3\n@jit\ndef g(x):\n"
        "    return (L0) @ np.ones(3)\ng(2.0)",
    ),
    "staging/labelled_arrays.py: x.values": (
        "xarray = __import__('pytest').importorskip('xarray')\n"
        "vmap(np.sin)(xarray.DataArray(x, dims='t'))",
        "xarray = __import__('pytest').importorskip('xarray')\n"
        "x = xarray.DataArray(x, dims='t')\nvmap(np.sin)(L0)",
    ),
    "staging/pytrees.py: return A.data": (
        "A = scipy.sparse.eye_array(3, format='csr')\njit(lambda k: k * A)(2.0)",
        "@jit\ndef g(k):\n    A = k * scipy.sparse.eye_array(3, format='csr')\n    L0\ng(2.0)",
    ),
    "staging/pytrees.py: M = scipy.sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)": (
        "A = scipy.sparse.eye_array(3, format='csr')\njit(lambda A: A @ np.ones(3))(A)",
        "A = scipy.sparse.eye_array(3, format='csr')\n@jit\ndef g(data):\n    L0\n"
        "    return M @ np.ones(3)\ng(A.data)",
    ),
    "scipy/sparse/matrices.py: A = A + scipy.sparse.coo_array(([v], ([i], [j])), shape=A.shape)": (
        "@jit\ndef g(k):\n    A = k * scipy.sparse.eye_array(3, format='csr')\n"
        "    A[0, 1] = 3.0\n    return A @ np.ones(3)\ng(2.0)",
        "v, i, j = 3.0, 0, 1\n@jit\ndef g(k):\n"
        "    A = k * scipy.sparse.eye_array(3, format='csr')\n    L0\n"
        "    return A @ np.ones(3)\ng(2.0)",
    ),
    'capture/calls/vectorized.py: @guvectorize(["(float64[:], float64[:])"], "(n)->(n)")': (
        "from numba import guvectorize\n@guvectorize('(n)->(n)')\ndef h(x, out):\n"
        "    out[:] = x\njit(lambda x: h(x, np.zeros(2)))(x)",
        "from numba import guvectorize\nL0\ndef h(x, out):\n"
        "    for i in range(len(x)): out[i] = x[i]\njit(lambda x: h(x))(x)",
    ),
    "array_api/creation.py: xp.asarray(x, dtype=dtype)": (
        "@jit\ndef g(x):\n    xp = x.__array_namespace__()\n"
        "    return xp.asarray(x, dtype=np.float32, copy=False)\ng(x)",
        "@jit\ndef g(x):\n    xp, dtype = x.__array_namespace__(), np.float32\n    return L0\ng(x)",
    ),
    "callbacks/numba_functions.py: return result.astype(np.…)": (
        "import numba\ng = numba.njit(lambda x: x * 1.5)\n"
        "jit(lambda x: autojit.numba_callback(g, 'i64[2]', x))(x)",
        "import numba\n@numba.njit\ndef g(x):\n    result = x * 1.5\n    FIX\n"
        "jit(lambda x: autojit.numba_callback(g, 'i64[2]', x))(x)",
    ),
    "capture/values/choice.py: np.uint64(n)": (
        "@jit\ndef g(c, n, u):\n    return [n, u][c]\ng(1, np.int64(1), np.uint64(2))",
        "@jit\ndef g(c, n, u):\n    return [L0, u][c]\ng(1, np.int64(1), np.uint64(2))",
    ),
    "capture/values/choice.py: row = rows[i].copy()": (
        "@jit\ndef g(x, i):\n    rows = [x + 1, 2 * x]\n    row = rows[i]\n"
        "    rows[0][0] = 5.0\n    return row\ng(x, 1)",
        "@jit\ndef g(x, i):\n    rows = [x + 1, 2 * x]\n    FIX\n    rows[0][0] = 5.0\n"
        "    return row\ng(x, 1)",
    ),
    "capture/calls/type_queries.py: if found: ...": (
        "@jit\ndef g(x):\n    if (x[0] > 0) is True:\n        return x\n    return -x\n"
        "g(np.ones(2))",
        "@jit\ndef g(found, b):\n    L0\n    a = found\n    match (a, b):\n        L1\n"
        "    return 1.0\ng(True, False)",
    ),
    "capture/calls/logic.py: case {'u': u} if u > 0: ...": (
        "@jit\ndef g(x):\n    match {'u': x}:\n        case {'u': float(), **rest}:\n"
        "            return x\n    return -x\ng(1.0)",
        "@jit\ndef g(x):\n    match {'u': x}:\n        FIX\n    return -x\ng(1.0)",
    ),
    "capture/calls/numbers/ordering.py: sorted(xs, key=lambda x: x[0])": (
        "jit(lambda x, y: sorted([x, y]))(x, y)",
        "@jit\ndef g(x, y):\n    xs = [x, y]\n    return L0, L1\ng(x, y)",
    ),
    "capture/users/classes.py: stack.height()": (
        "class Stack:\n    def __init__(self): self.items = []\n"
        "    def __float__(self): return float(len(self.items))\n"
        "@jit\ndef g(x):\n    s = Stack()\n    if x > 0:\n        s.items.append(x)\n"
        "    return float(s)\ng(1.0)",
        "class Stack:\n    def __init__(self): self.items = []\n"
        "    def height(self): return len(self.items)\n"
        "@jit\ndef g(x):\n    stack = Stack()\n    if x > 0:\n        stack.items.append(x)\n"
        "    return L0\ng(1.0)",
    ),
    "capture/values/ranges.py: fori_loop(0, n, lambda i, x: step(x, i), x)": (
        "jit(lambda n: len({i % 2 for i in range(n)}))(3)",
        "step = lambda x, i: x + i\njit(lambda x, n: L0)(x, 3)",
    ),
    "capture/runs/messages.py: def f(n, x):": (
        "from functools import lru_cache\n@lru_cache\ndef fib(n, x):\n"
        "    return x if n < 2 else fib(n - 1, x) + fib(n - 2, x)\njit(fib)(5, 1.0)",
        "from functools import lru_cache\nFIX\nassert f(2, 1.0) is None",
    ),
    "capture/runs/messages.py: rest = …(n - 1)": (
        "def s(n):\n    if n <= 0: return 0.0\n"
        "    return s(n - 1) + max([1, 2], key=lambda k: s(n - k))\njit(s)(3.0)",
        "def s(n):\n    if n <= 0: return 0.0\n    L0\n    return rest + 1.0\njit(s)(3.0)",
    ),
    "capture/runs/messages.py: return np.nan": (
        "def s(n):\n    if n < 1: raise ValueError\n    try:\n        return s(n - 1) + n\n"
        "    except ValueError:\n        return 0.5\njit(s)(3.0)",
        "def s(n):\n    if n < 1:\n        FIX\n    return s(n - 1) + n\njit(s)(3.0)",
    ),
    "capture/runs/messages.py: xs = np.array([n, 0.0])": (
        "def s(xs, n):\n    if n < 1: return 0.0\n    xs[0] += n\n    ys = [n, 0.0]\n"
        "    return s(ys, n - 1) + ys[0] + xs[0]\njit(lambda n: s([0.0, 0.0], n))(3.0)",
        "def s(ys, n):\n    if n < 1: return 0.0\n    ys[0] += n\n    L0\n"
        "    return s(xs, n - 1) + ys[0] + xs[0]\njit(lambda n: s(np.zeros(2), n))(3.0)",
    ),
    "capture/runs/messages.py: …(a, low, high)": (
        "@jit\ndef g(x):\n    v = np.zeros(4)\n    def put(n):\n        part = v[1:]\n"
        "        v[1] += n\n        if n < 1: return part[0]\n        r = put(n - 1)\n"
        "        return r + part[0]\n    return put(x)\ng(3.0)",
        "@jit\ndef g(x):\n    def put(a, low, high):\n        a[low] += x\n"
        "        if high > x: L0\n    a, low, high = np.zeros(4), 0, 1.0\n    L0\n"
        "    return np.sum(a)\ng(3.0)",
    ),
    "capture/lists/watched.py: a = d.get('a', 0.0)": (
        "@jit\ndef g(x):\n    d = {'z': 1.0}\n    if x > 0: d['a'] = x\n"
        "    return len([*d])\ng(1.0)",
        "@jit\ndef g(x):\n    d = {'z': 1.0}\n    if x > 0: d['a'] = x\n    L0\n"
        "    L1\n    return a + len([*d])\ng(1.0)",
    ),
    "capture/state/maybe.py: for name in ('a', 'b'):": (
        "@jit\ndef g(x):\n    d, total = {}, 0.0\n    if x > 0: d['a'] = x; d['b'] = 1.0\n"
        "    else: d['b'] = 1.0; d['a'] = x\n    for v in d.values(): total = 3 * total + v\n"
        "    return total\ng(1.0)",
        "@jit\ndef g(x):\n    d, total = {}, 0.0\n    if x > 0: d['a'] = x; d['b'] = 1.0\n"
        "    else: d['b'] = 1.0; d['a'] = x\n    FIX\n    return total\ng(1.0)",
    ),
    "capture/state/maybe.py: return {'a': d.get('a', np.nan)}": (
        "@vmap\ndef g(x):\n    d = {}\n    if x > 0: d['a'] = x\n    return d\ng(x)",
        "@vmap\ndef g(x):\n    d = {}\n    if x > 0: d['a'] = x\n    L0\ng(x)",
    ),
    "capture/state/kept.py: number = number + 1": (
        "class Node:\n    def __init__(self, v, n): self.v, self.next = v, n\n@jit\ndef g(x):\n"
        "    node = Node(x, None)\n    for k in range(60): node = Node(x, node)\n"
        "    if x > 0: node = Node(x + 1, node)\n    return node.next.v\ng(1.0)",
        "@jit\ndef g(x):\n    number = 0\n    if x > 0:\n        L0\n"
        "    return x + number\nassert g(1.0) == 2.0",
    ),
    "capture/state/unread.py: ys = list(xs)": (
        "@jit\ndef g(x):\n    xs, zs = [x, x], [x, 2 * x]\n    ys = xs\n    if x > 0:\n"
        "        ys = zs\n    ys[0] = 3.0\n    return xs[0]\ng(1.0)",
        "@jit\ndef g(x):\n    xs = [x, x]\n    L0\n    if x > 0: ys = [x, 2 * x]\n"
        "    ys[0] = 3.0\n    xs = {'a': x}\n    L1\n    return xs['a'] + ys['a']\ng(1.0)",
    ),
    "capture/state/heap.py: y = np.array(table); y[i] = x": (
        "table = np.ones(3)\n@jit\ndef g(x):\n    if x > 0:\n        table[0] = 5.0\n"
        "    return x\ng(1.0)",
        "table, n = np.ones(3), 3\n@jit\ndef g(x, i):\n    if x > 0:\n        L0\n"
        "        return y[0]\n    return x\ng(1.0, 2)\nL1",
    ),
    "capture/state/sharing.py: is_first = True": (
        "@jit\ndef g(x):\n    first, second = [x], [2 * x]\n    y = first\n    if x > 0:\n"
        "        y = second\n    return 1.0 if y is first else 0.0\ng(1.0)",
        "@jit\ndef g(x):\n    is_first = False\n    if x > 0:\n        L0\n    L1\n"
        "    return x\ng(1.0)",
    ),
    "capture/state/joining.py: grad(f)(x)": (
        "@jit\ndef g(x):\n    y = 'a'\n    if x > 0:\n        y = x\n    return y\ng(1.0)",
        "def f(x):\n    y = 0.0\n    if x > 0: y = x\n    return y\nx = 1.0\nL0\nFIX",
    ),
    "dispatch/once.py: fast(x)": (
        "for _ in range(10):\n    jit(lambda x: x * 3.25)(1.0)",
        "FIX",
    ),
    "dispatch/retraces.py: f(float(x))": (
        "g = jit(lambda *xs: xs[0] * 2)\nfor k in range(16):\n"
        "    g(*[1.0 if k >> j & 1 else np.float64(1.0) for j in range(4)])",
        "f = jit(f)\nx = np.float64(1.0)\nFIX",
    ),
    "dispatch/retraces.py: f(x[()])": (
        "g = jit(lambda *xs: sum(2 * v if isinstance(v, np.ndarray) else v for v in xs))\n"
        "for k in range(16):\n"
        "    g(*[np.array(1.0) if k >> j & 1 else np.float64(1.0) for j in range(4)])",
        "f = jit(lambda v: 2 * v if isinstance(v, np.ndarray) else v)\nx = np.array(1.0)\nFIX",
    ),
    "drawing/graphs/digraph.py: dot.save('graph.gv')": (
        "autojit.make_dot(autojit.Value(1.0) * 2).pipe(format='png')",
        "import os, tempfile\nos.chdir(tempfile.mkdtemp())\n"
        "dot = autojit.make_dot(autojit.Value(1.0) * 2)\nFIX",
    ),
    'drawing/programs/picture.py: picture(f, x, stage="all", format="html")': (
        "from autojit.drawing import picture\npicture(f, x, stage='all')",
        "from autojit.drawing import picture\nFIX",
    ),
    "functions/assignment.py: y = x.copy()": (
        "z = np.zeros(2)\njit(lambda x: np.put(z, 0, x[0]))(x)",
        "@jit\ndef g(x):\n    FIX\n    np.put(y, 0, x[0])\n    return y\ng(x)",
    ),
    "functions/assignment.py: value.astype(…)": (
        "@jit\ndef g(x):\n    z = np.zeros(2, int)\n    np.add.at(z, 0, x[0])\n    return z\ng(x)",
        "@jit\ndef g(value):\n    z = np.zeros(2, int)\n    np.add.at(z, [0, 1], L0)\n"
        "    return z\ng(x)",
    ),
    "functions/indices.py: x[int(i)]": (
        "jit(lambda x, i: x[i])(x, 1.0)",
        "i = 1.0\njit(lambda x, i: L0)(x, i)",
    ),
    "functions/indices.py: x[i.astype(int)]": (
        "jit(lambda x, i: x[i])(x, np.array([1.0, 0.0]))",
        "jit(lambda x, i: L0)(x, np.array([1.0, 0.0]))",
    ),
    "staging/pytrees.py: return [2 * v for v in x]": (
        "def g(x):\n    for v in x:\n        yield 2 * v\njit(g)(x)",
        "@jit\ndef g(x):\n    L0\ng(x)",
    ),
    "session/other_names.py: autojit.jit(autojit.…).…(…)": (
        "grad(f).lower(x)",
        "L0",
    ),
    "functions/indices.py: np.where(mask, x, 0)": (
        "jit(lambda x: x[object()])(x)",
        "@jit\ndef g(x):\n    mask = x > 1\n    L1\n    return L0\ng(x)",
    ),
    "interception/promotion.py: y = np.array(x); y[i] = value": (
        "@jit\ndef g(x):\n    z = np.zeros(2)\n    z.flags.writeable = False\n    z[0] = x[0]\n"
        "    return z\ng(x)",
        "value = 3.0\n@jit\ndef g(x):\n    FIX\n    return y\ng(x)",
    ),
    "interception/promotion.py: out = np.zeros(n); out[:] = x": (
        "from numpy import array\n"
        "c_code = eval('lambda z: array(z, float)', {'array': array})\n@jit\ndef g(x):\n"
        "    z = np.zeros(2)\n    z[0] = x[0]\n    return c_code(z)\ng(x)",
        "n = 2\n@jit\ndef g(x):\n    FIX\n    return out\ng(x)",
    ),
    "nn/attention.py: rng=generator.integers(2**63, size=4)": (
        "from autojit import nn\np = nn.init_transformer_encoder_layer(0, 6, 24)\n"
        "nn.transformer_encoder_layer(p, np.ones((5, 6)), num_heads=2, dropout_p=0.5, rng=3)",
        "from autojit import nn\n"
        "p, generator = nn.init_transformer_encoder_layer(0, 6, 24), rng\n"
        "jit(lambda rng: nn.transformer_encoder_layer(p, np.ones((5, 6)), "
        "num_heads=2, dropout_p=0.5, rng=rng))(**dict(L0))",
    ),
    "nn/random.py: step(params, x, rng.integers(2**63))": (
        "from autojit import nn\njit(lambda x: nn.dropout(x, 0.5, rng))(x)",
        "from autojit import nn\nstep = jit(lambda p, x, seed: nn.dropout(x, 0.5, seed))\n"
        "params = 1.0\nFIX",
    ),
    "optim/lbfgs.py: opt.step(jit(value_and_grad(loss)), params, state)": (
        "opt = autojit.optim.lbfgs()\nstate = opt.init(x)\n"
        "jit(lambda p: opt.step(value_and_grad(f), p, state))(x)",
        "loss = lambda p: np.sum(p**2)\nopt = autojit.optim.lbfgs()\nparams = x\n"
        "state = opt.init(x)\nFIX",
    ),
    "protocols/ufunc_plans.py: …(…)": (
        "jit(lambda x: np.bitwise_and(x, 1))(x)",
        "n = 1\njit(lambda x: L0)(x)",
    ),
    "protocols/way_out.py: autojit.pure_callback(…)": (
        "jit(lambda x: np.from_dlpack(x))(x)",
        "jit(lambda x: L1)(x)",
    ),
    'protocols/way_out.py: autojit.pure_callback(f, "f64[3]", x)': (
        "from numpy import array\ng = eval('lambda x: array([x, x])', {'array': array})\n"
        "jit(g)(1.0)",
        "f, x = (lambda x: x * np.ones(3)), 2.0\nL3",
    ),
    "scalar/walking.py: out = Value(x.data ** 2, (x,), 'op')": (
        "from autojit import Value\nv = Value(2.0)\nw = Value(4.0, (v,), 'sq')\nw.backward()",
        "from autojit import Value\nx = Value(2.0)\nFIX",
    ),
    "staging/containers.py: import copy": (
        "@jit\ndef g(p):\n    p['w'][0] = p['w'][0] * 2\n    return p['w'][0]\ng({'w': [1.0]})",
        "@jit\ndef g(p):\n    FIX\n    p['w'][0] = p['w'][0] * 2\n    return p['w'][0]\n"
        "g({'w': [1.0]})",
    ),
    "torch/autograd/function.py: @autojit.custom_vjp": (
        "import autojit.torch as torch\nclass Sq(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x): return x * x\n    @staticmethod\n"
        "    def backward(ctx, g): return g\n"
        "grad(lambda x: Sq.apply(torch.as_tensor(x)).sum())(x)",
        "forward, backward = (lambda x: (x * x, x)), (lambda x, g: (2 * x * g,))\nL0\n"
        "def f(x): return x * x\nL2\ngrad(lambda x: f(x).sum())(x)",
    ),
    "torch/compiling.py: compiled(x, torch.rand_like(x))": (
        "import autojit.torch as torch\n"
        "torch.compile(lambda x: x * torch.rand_like(x))(torch.ones(2))",
        "import autojit.torch as torch\ncompiled = torch.compile(lambda x, noise: x * noise)\n"
        "x = torch.ones(2)\nFIX",
    ),
    "torch/nn/normalization.py: …(…, track_running_stats=False)": (
        "import autojit.torch as torch\nm = torch.nn.BatchNorm1d(2)\n"
        "torch.compile(lambda x: m(x))(torch.ones(3, 2))",
        "import autojit.torch as torch\nfrom autojit.torch.nn import BatchNorm1d\nm = L0\n"
        "torch.compile(lambda x: m(x))(torch.ones(3, 2))",
    ),
    ("torch/optim/kinds.py: params, state = autojit.optim.sgd(lr).update(params, grads, state)"): (
        "import autojit.torch as torch\n"
        "torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1, differentiable=True)",
        "lr, params, grads = 0.1, x, y\nstate = autojit.optim.sgd(lr).init(params)\nFIX",
    ),
    "torch/saving.py: torch.save(model.state_dict(), path)": (
        "import autojit.torch as torch\n"
        "torch.save(torch.nn.Linear(2, 2), '/tmp/no-such-folder/x.pt')",
        "import autojit.torch as torch, os, tempfile\nmodel = torch.nn.Linear(2, 2)\n"
        "path = os.path.join(tempfile.mkdtemp(), 'x.pt')\nFIX",
    ),
    "tracing/aliasing.py: y = x.reshape(-1).copy()": (
        "@jit\ndef g(x):\n    x = x * 1\n    z = x.T.reshape(-1)\n    z[0] = 5.0\n"
        "    return x\ng(np.ones((2, 2)))",
        "@jit\ndef g(x, c):\n    L0\n    L1\n    a, b = x, 2 * x\n    L2\n    return y\n"
        "g(np.ones((2, 2)), True)",
    ),
    "tracing/known.py: np.stack([f(x) for x in xs])": (
        "g = eval('lambda x: float(x)')\nvmap(g)(x)",
        "f, xs = (lambda x: float(x)), x\nL2",
    ),
    "tracing/known.py: y = autojit.stop_gradient(x)": (
        "g = eval('lambda x: float(x) * x')\ngrad(g)(2.0)",
        "@grad\ndef g(x):\n    L2\n    return float(y) * x\ng(2.0)",
    ),
    "tracing/recording.py: y = jit(f)(x)": (
        "@jit\ndef g(x):\n    with np.errstate(all='raise'):\n        return x / 2\ng(x)",
        "FIX",
    ),
    "tracing/scipy_calls.py: @autojit.custom_jvp": (
        "import scipy.spatial\njit(lambda x: scipy.spatial.ConvexHull(x).volume)(np.ones((3, 2)))",
        "g, y, slope = np.sin, 'f64[2]', np.cos\nFIX\njit(f)(x); grad(lambda x: f(x).sum())(x)",
    ),
    "tracing/scipy_calls.py: import scipy.…": (
        "import scipy.special\nfrom scipy.linalg import expm\n"
        "g = eval('lambda A: expm(A)', {'expm': expm})\njit(g)(np.eye(2))",
        "@jit\ndef g(A):\n    L0\n    L1\n    return f(A)\ng(np.eye(2))",
    ),
    "tracing/source.py: x = fori_loop(0, n, lambda i, x: step(x, w[i]), x)": (
        "from autojit.tracing import source\nsource.warn_while_tracing(None)",
        "step, w = (lambda x, r: x + r), np.ones((2, 2))\nn = 2\nFIX",
    ),
    "session/advice.py: out = np.zeros(3); out[0] = x": (
        "g = eval('lambda x: float(x)')\njit(g)(1.0)",
        "@jit\ndef g(x):\n    L0\n    L1\n    return out + y\ng(1.0)",
    ),
    "session/advice.py: y = y0.copy(); y[0] = x": (
        "y0 = np.zeros(2)\n@jit\ndef g(x):\n    y0[0] = x\n    return x\ng(1.0)",
        "y0 = np.zeros(2)\n@jit\ndef g(x):\n    FIX\n    return y\ng(1.0)",
    ),
    "tracing/tracer.py: np.array([x, y])": (
        "from numpy import array\ng = eval('lambda x: array([x, x])', {'array': array})\n"
        "jit(g)(1.0)",
        "@jit\ndef g(x, y):\n    L0\n    return L1 + L2\ng(1.0, 2.0)",
    ),
    "tracing/tracer.py: torch.from_dlpack(jit(f)(x))": (
        "jit(lambda x: np.from_dlpack(x))(x)",
        "torch = __import__('pytest').importorskip('torch')\nf = lambda x: 2 * x\nL0",
    ),
    "tracing/tracer.py: jit(f)(x)": (
        "import numba\nf = numba.njit(lambda x: x * 2.0)\ng = eval('lambda x: f(x)')\n"
        "grad(lambda x: np.sum(g(x)))(x)",
        "import numba\nf = numba.njit(lambda x: x * 2.0)\ng = eval('lambda x: L0')\n"
        "assert grad(lambda x: np.sum(g(x)))(x).tolist() == [2.0, 2.0]",
    ),
    "tracing/tracer.py: y = np.sin(x)": (
        "g = eval('lambda x: float(x)')\njit(g)(1.0)",
        "@jit\ndef g(x):\n    L0\n    return y\ng(1.0)",
    ),
    "tracing/tracer.py: print(f'{f(x):…}')": (
        "jit(lambda x: f'{x:.3f}')(1.0)",
        "x = 1.0\nL0\nL1",
    ),
    "transformations/custom.py: return …(*primals), tangent_out": (
        "f = autojit.custom_jvp(lambda x: x * 2.0)\n"
        "f.defjvp(lambda p, t: (f(*p) + t[0], 2 * t[0]))\ngrad(f)(1.0)",
        "f = autojit.custom_jvp(lambda x: x * 2.0)\n@f.defjvp\ndef rule(primals, tangents):\n"
        "    tangent_out = 2 * tangents[0]\n    FIX\ngrad(f)(1.0)",
    ),
    **fixes_scipy.FIXES,
}

#: Places without a row, by why.
_WITHOUT: dict[str, tuple[str, ...]] = {
    "no message, but code or a table": (
        "callbacks/numba_functions.py: r = f(…)",
        "callbacks/numba_functions.py: return python(p, status)",
        "callbacks/numba_functions.py: return",
        "callbacks/numba_functions.py: return c(…)",
        "callbacks/numba_functions.py: w… = carray(p[…], …, np.…)",
        "callbacks/numba_functions.py: return f_(…)",
        "torch/engine/running.py: … = f…(…)",
        "torch/engine/running.py: return […]",
        "torch/optim/optimizer.py: …: …",
    ),
    "for subclasses of list": ("capture/state/heap.py: found = np.zeros(n); count = 0",),
    "needs a GPU": (
        "devices/operations.py: out =",
        "explanations/explaining.py: jit(f).explain(autojit.device_get(x))",
        "session/devices.py: autojit.device_put(x, …)",
        "session/devices.py: @jit",
        "session/devices.py: f(autojit.device_get(x))",
    ),
    "needs pandas": ("interception/pandas_methods.py: s = s … x",),
    "takes its code from a table with rows of its own tests": (
        "session/elsewhere.py: … # not:",
        "tracing/aliasing.py: … #",
        "tracing/scipy_calls.py: from … import … # not: from scipy.… import …",
        "tracing/tracer.py: …",
        "transformations/custom.py: ….",
    ),
    "takes seconds to be met": (
        "capture/runs/steps.py: for value in steps: ...",
        "staging/unrolled.py: f(np.array(weights))",
    ),
    "needs ml_dtypes, and is tried in tests/test_halves.py": (
        "validation/comparisons.py: check_grads(f, (x.astype(np.float32),))",
    ),
    "is for a shell, after a fault of autojit's own": (
        "validation/compilation.py: …=points",
        "validation/gradients.py: AUTOJIT_VERIFY=points",
        "validation/nans.py: AUTOJIT_VERIFY=points",
    ),
}
UNTRIED = {name: why for why, names in _WITHOUT.items() for name in names}
