"""A newcomer's mistakes of the first days, and a grade for each answer.

A: it ends at the user's line or names the argument, says what is wrong, and shows code that runs.
B: two of these; C: one; D: none.  The grade is computed and compared with the one that stands here,
so that an answer that gets worse is seen, and one that gets better is written down.
"""

from __future__ import annotations

import re

import pytest

from tests.autojit.errors.examples import printed
from tests.autojit.errors.fixes import SETUP
from tests.autojit.errors.test_fixes import pasted, shown

#: The mistake; words of the answer that say what is wrong; a program with the code of the answer
#: (``FIX`` for all of it, ``L0`` for its first line), or "" where none is shown; the grade.
MISTAKES: dict[str, tuple[str, str, str, str]] = {
    "a call is forgotten, and the pair unpacked": (
        "v, g = value_and_grad(f)", "not its result, and is unpacked", "v, g = L0", "A"),
    "a call is forgotten before an operator": (
        "x - 0.1 * grad(f)", "not its result, and is an operand of `*`", "x - 0.1 * L0", "A"),
    "a call is forgotten in a NumPy function": (
        "np.sum(jit(f))", "not its result, and is an operand of np.add", "np.sum(L0)", "A"),
    "a call is forgotten before an attribute": (
        "grad(f).shape", "has no attribute 'shape'. Call it", "L0.shape", "A"),
    "the gradient of a value": ("grad(f(x))", "takes a function, not", "FIX", "A"),
    "arguments beside the function": ("grad(f, x)", "second pair of brackets", "FIX", "A"),
    "arguments beside the function of jit": ("jit(f, x)", "second pair of brackets", "FIX", "A"),
    "vjp of a value": ("autojit.vjp(f(x), x)", "takes a function", "from autojit import vjp\nFIX",
        "A"),
    "jvp without tuples": ("autojit.jvp(f, x, x)", "as a tuple",
        "from autojit import jvp\nv = x\nFIX", "A"),
    "argnums by name": ("grad(f, argnums='x')(x)", "takes positions, not names", "FIX", "A"),
    "argnums beyond the arguments": ("grad(f, argnums=1)(x)", "called with 1 positional", "FIX",
        "A"),
    "argnums of a float": ("grad(f, argnums=0.0)(x)", "takes integers", "FIX", "A"),
    "argnums by position": ("@grad(0)\ndef g(x): return np.sum(x)", "Name the setting",
        "FIX\ndef g(x): return np.sum(x)\ng(x)", "A"),
    "the argument by name": ("grad(f)(x=x)", "0 positional arguments", "FIX", "A"),
    "a whole number": ("grad(f)(3)", "only floating-point arguments", "L0", "A"),
    "an array of whole numbers": ("grad(f)(n)", "which is int64", "L0", "A"),
    "an array is returned": ("grad(lambda x: x**2)(x)", "returns an array", "FIX", "A"),
    "a list is returned": ("grad(lambda x: [np.sum(x)])(x)", "returns it in a list",
        "def g(x):\n    loss = f(x)\n    L0\ngrad(g)(x)", "A"),
    "a pair is returned": ("grad(lambda x: (np.sum(x), x))(x)", "returns 2 arrays", "FIX", "A"),
    "nothing is returned": ("grad(lambda x: None)(x)", "`return` missing",
        "def g(x):\n    loss = f(x)\n    L0\ngrad(g)(x)", "A"),
    "has_aux without a pair": ("grad(f, has_aux=True)(x)", "must return a tuple",
        "def g(x):\n    loss, extra = f(x), x\n    L0\ngrad(g, has_aux=True)(x)", "A"),
    "a position is returned": ("grad(np.argmax)(x)", "have no derivative", "FIX", "A"),
    "an object is returned": ("jit(lambda x: object())(x)", "of type object", "day = 1\nL1", "A"),
    "a mutable default": ("@jit\ndef g(x, seen=[]):\n    seen.append(x)\n    return x\ng(x)",
        "in the default of the argument `seen`", "FIX", "A"),
    "a list outside": ("kept = []\ndef g(x):\n    kept.append(x)\n    return f(x)\ngrad(g)(x)",
        "the global variable `kept`", "FIX", "A"),
    "random numbers": ("jit(lambda x: x + np.random.randn(2))(x)", "would see the same numbers",
        "L0", "A"),
    "a number is formatted": ("jit(lambda x: f'{x:.2f}')(1.0)", "needs the value", "x = 1.0\nL0",
        "A"),
    "shapes do not fit": ("jit(lambda x: x @ np.ones((3, 2)))(x)", "must equal",
        "a, b = x, np.ones((3, 2))\nFIX", "A"),
    "shapes do not broadcast": ("grad(lambda x: f(x + np.ones(3)))(x)", "do not broadcast",
        "x = np.ones((2, 2))\nFIX", "A"),
    "@jit above @classmethod": (
        "class A:\n    @jit\n    @classmethod\n    def loss(cls, x): return np.sum(x)",
        "Decorate the function first",
        "class A:\n    FIX\n    def loss(cls, x): return np.sum(x)\nA.loss(x)", "A"),
    "an object": ("class A: pass\njit(f)(A())", "neither an array nor a number", "FIX", "A"),
    "a DataFrame": ("import pandas\njit(f)(pandas.Series([1.0]))", "is a pandas.Series",
        "import pandas\nx = pandas.Series([1.0])\njit(f)(L0)", "A"),
    "an argument is changed": ("@jit\ndef g(x):\n    x += 1\n    return x\ng(x)",
        "changed in place", "FIX", "A"),
    "a mask picks": ("vmap(lambda x: x[x > 1])(x[None])", "length depends on a traced value",
        "m, x = x > 1, np.array([1.0, 2.0])\nL1", "A"),
    "a traced length": ("jit(lambda k: np.zeros(k))(3)", "must be known", "L0", "A"),
    "an array is asked for its truth": (
        "@jit\ndef g(x):\n    if x > 0: return x\n    return -x\ng(x)", "is ambiguous",
        "L0; L1", "A"),
    "`and` of arrays": ("jit(lambda x: np.where(x > 0 and x < 2, x, 0))(x)", "is ambiguous",
        "L0; L1", "A"),
    "a name is misspelt": ("jit(lambda x: x.summ())(x)", "Did you mean sum?", "", "B"),
    "a method of PyTorch's": ("grad(lambda x: f(x.detach()))(x)", "PyTorch's tensors have it",
        "FIX", "A"),
    "a method of JAX's": ("jit(lambda x: x.at[0].set(1.0))(x)", "JAX's arrays have it",
        "i, v = 0, 1.0\nFIX", "A"),
    "a name of another library": ("autojit.gradient(f)", "no attribute 'gradient'", "FIX", "A"),
    "^ for a power": ("jit(lambda x: x ^ 2)(x)", "bitwise_xor does not take", "L1", "A"),
    "a column by its name": ("jit(lambda x: x['a'])(x)", "have no column names", "FIX", "A"),
    "results for functions": ("autojit.cond(True, f(x), f(x), x)", "must be a function",
        "g = f\nFIX", "A"),
    "arguments in another order": ("autojit.fori_loop(0, 3, 0.0, lambda i, s: s)",
        "argument 2 of fori_loop", "FIX", "A"),
    "vmap of a number": ("vmap(f)(1.0)", "there is no such axis", "FIX", "A"),
    "vmap to an axis that there is not": ("vmap(f, out_axes=1)(x)", "out_axes=1", "FIX", "A"),
    "a function has no derivative stopped": ("autojit.stop_gradient(f)(x)", "takes values", "FIX",
        "A"),
    "settings of Numba's": ("jit(f, nopython=True)", "That is Numba's", "FIX", "A"),
    "a device by another name": ("jit(f, device='gpu')", "'cpu' or 'cuda'", "FIX", "A"),
    "a dict with a traced key": (
        "jit(lambda i: {0.5: 1.0}[i])(0.5)", "traced key", "i = 1\nFIX", "A"),
    "a name of JAX is imported": (
        "from autojit import pmap", "autojit has no 'pmap'. It is JAX's", "FIX", "A"),
    "the arrays of JAX are imported": ("from autojit import Array", "It is JAX's", "FIX", "A"),
    "lax is imported": ("from autojit import lax", "It is JAX's", "FIX", "A"),
    "JAX's random numbers are imported": ("from autojit import random", "JAX's", "FIX", "A"),
    "tree_map is imported": ("from autojit import tree_map", "JAX's", "import optree\nFIX", "A"),
    "JAX is configured": ("autojit.config.update('jax_enable_x64', True)", "JAX's", "FIX", "A"),
    "Numba's name is imported": ("from autojit import njit", "Numba's", "FIX", "A"),
    "a name of HIPS autograd's": (
        "from autojit import elementwise_grad", "HIPS autograd's", "f = np.sin\nFIX", "A"),
    "PyTorch's Module is imported": ("from autojit import Module", "PyTorch's", "FIX", "A"),
    "a function of NumPy's is imported": ("from autojit import cumsum", "NumPy's", "FIX", "A"),
    "explain as a function": ("autojit.explain(f, x)", "no attribute 'explain'", "FIX", "A"),
    "trace with the arguments": ("autojit.trace(f, x)", "second pair of brackets",
        "from autojit import trace\nFIX", "A"),
    "profile with a function": ("autojit.profile(f)", "takes no arguments", "FIX", "A"),
    "an integer of more than 64 bits": (
        "jit(lambda n: n + 2**63)(2**40)", "does not fit into the 64 bits",
        "jit(lambda n: L0)(2**40)", "A"),
    "an argument of more than 64 bits": ("jit(f)(2**70)", "does not fit int64", "FIX\njit(f)(x)",
        "A"),
    "a set of traced numbers": ("jit(lambda x: len({v for v in x}))(x)", "a member of a set",
        "n = 3\nFIX", "A"),
    "math.sin of an array": (
        "import math\njit(lambda x: math.sin(x))(x)", "this one has shape (2,)", "FIX", "A"),
    "math.log of an array": (
        "import math\ngrad(lambda x: math.log(x))(x)", "this one has shape (2,)", "FIX", "A"),
    "item of an array": ("grad(lambda x: (x**2).item())(x)", "shape (2,). Pick", "FIX", "A"),
    "a product that needs a transpose": (
        "jit(lambda a, b: a @ b)(np.ones((5, 4)), np.ones((3, 4)))", "operands that fit",
        "a, b = np.ones((5, 4)), np.ones((3, 4))\nL0", "A"),
    "a product of vectors of two lengths": (
        "jit(np.dot)(np.ones(3), np.ones(4))", "3 and 4 differ", "a, b = x, y\nFIX", "A"),
    "concatenate without a list": (
        "jit(lambda a, b: np.concatenate(a, b))(x, y)", "as one list",
        "jit(lambda a, b: L0)(x, y)", "A"),
    "stack of two lengths": (
        "jit(lambda a, b: np.stack([a, b]))(x, np.ones(3))", "arrays of one shape",
        "jit(lambda a, b: L0)(x, np.ones(3))", "A"),
    "a ragged list": (
        "jit(lambda x: np.sum(x))([[1.0, 2.0], [3.0]])", "shapes differ: (2,), (1,)",
        "jit(lambda x: L0)([[1.0, 2.0], [3.0]])", "A"),
    "None for an array": ("grad(lambda x: np.sum(x))(None)", "argument 0 is None", "FIX", "A"),
    "an array of texts": ("jit(f)(np.array(['1.5']))", "dtype str", "x = np.array(['1.5'])\nFIX",
        "A"),
    "an array of dates": (
        "jit(f)(np.array(['2020-01-01'], 'M8[D]'))", "dtype datetime64",
        "x = np.array(['2020-01-01'], 'M8[D]')\nFIX", "A"),
    "a structured array": (
        "jit(f)(np.zeros(2, [('a', float)]))", "dtype void",
        "x = np.zeros(2, [('a', float)])\nFIX", "A"),
    "an array of objects": ("jit(f)(np.array([1.0, None]))", "dtype object",
        "x = np.array([1.0, None])\nFIX", "A"),
    "a masked array": ("jit(f)(np.ma.array([1.0]))", "a subclass of np.ndarray", "FIX", "A"),
    "a generator of numbers": ("jit(f)(v for v in x)", "An iterator is read once",
        "jit(f)(L0)", "A"),
    "a generator of random numbers": ("jit(f)(x, rng)", "cannot draw from a generator", "FIX", "A"),
    "a dataclass with a text in it": (
        "@dataclasses.dataclass\nclass P:\n    name: str\n    w: object\njit(f)(P('a', x))",
        "argument 0.name is 'a'",
        "@dataclasses.dataclass\nclass P:\n    name: str\n    w: object\n"
        "def f(p): return np.sum(p.w)\np = P('a', x)\nFIX", "A"),
    "a dict with a text in it": (
        "jit(lambda p: np.sum(p['w']))({'w': x, 'name': 'a'})", "argument 0['name'] is 'a'",
        "params = {'w': x, 'name': 'a'}\nFIX\njit(lambda p: np.sum(p['w']))(params)", "A"),
    "the gradient by self": (
        "class Model:\n    w = np.ones(2)\n    def loss(self, x): return np.sum(self.w * x)\n"
        "grad(Model.loss)(Model(), x)", "argument 0 is",
        "class Model:\n    w = np.ones(2)\n    def loss(self, x): return np.sum(self.w * x)\n"
        "f = Model.loss\nL0(Model(), x)", "A"),
    "scan of a body with one argument": (
        "scan(lambda c: (c, c), 0.0, x)", "with (carry, x)", "FIX", "A"),
    "scan of a body that returns one thing": (
        "scan(lambda c, v: c + v, 0.0, x)", "must return (carry, y)",
        "def body(carry, x):\n    FIX\nscan(body, 0.0, x)", "A"),
    "scan over a list": (
        "scan(lambda c, v: (c + v, c), 0.0, [1.0, 2.0])", "A list is a tree of arrays",
        "xs = [1.0, 2.0]\nFIX\nscan(lambda c, v: (c + v, c), 0.0, xs)", "A"),
    "fori_loop of a body with one argument": (
        "fori_loop(0, 3, lambda s: s, x)", "with (i, carry)", "FIX", "A"),
    "a condition that is an array": (
        "autojit.while_loop(lambda s: s < 3, lambda s: s + 1, x)", "has shape (2,)",
        "autojit.while_loop(lambda x: L0, lambda x: x - 1, x)", "A"),
    "branches of two shapes": (
        "autojit.cond(True, lambda v: v, lambda v: v[:1], x)", "f64[1] from false_fun",
        "y = x[:1]\nFIX", "A"),
    "a tangent of another shape": ("autojit.jvp(f, (x,), (np.ones(3),))", "shape (2,); got (3,)",
        "FIX\nautojit.jvp(f, (x,), (v,))", "A"),
    "a cotangent in a tuple": (
        "autojit.vjp(lambda x: x**2, x)[1]((x,))", "structure *; got (*,)",
        "v, pull_back = x, autojit.vjp(lambda x: x**2, x)[1]\nFIX", "A"),
    "dim for axis": ("jit(lambda x: np.sum(x, dim=0))(x)", "NumPy's are `axis`", "FIX", "A"),
    "keepdim for keepdims": (
        "jit(lambda x: x.sum(axis=0, keepdim=True))(x)", "NumPy's are `axis`", "FIX", "A"),
    "PyTorch's view": ("jit(lambda x: x.view(-1, 1))(x)", "takes a dtype", "FIX", "A"),
    "PyTorch's unsqueeze": ("jit(lambda x: x.unsqueeze(0))(x)", "tensors have it", "FIX", "A"),
    "append of an array": ("jit(lambda x: x.append(1.0))(x)", "lists have it", "FIX", "A"),
    "an element is deleted": (
        "@jit\ndef g(x):\n    y = x.copy()\n    del y[0]\n    return y\ng(x)",
        "cannot be deleted", "y = x\nFIX", "A"),
    "a class of optimisers with a rate": (
        "autojit.optim.Adam(0.1)", "is the parameters, not 0.1", "FIX", "A"),
    "opt.step()": (
        "autojit.optim.adam(0.1).step()", "it holds no state",
        "opt, params = autojit.optim.adam(0.1), x\nFIX", "A"),
    "json of a traced array": (
        "import json\njit(lambda x: json.dumps(x))(x)", "not JSON serializable", "FIX", "A"),
    "a file is written": (
        "jit(lambda x: np.savetxt('x.txt', x))(x)", "needs the values", "L0", "A"),
    "a clock is read": (
        "import time\njit(lambda x: x + time.time())(x)", "would read the clock",
        "import time\nL0", "A"),
    "check is misspelt": ("jit(f, check='frist')", "must be 'first' or None", "FIX", "A"),
    "in_axes of another length": (
        "vmap(lambda a, b: a + b, in_axes=(0,))(x, y)", "1 entry for 2 arguments", "FIX", "A"),
    "vmap over two lengths": (
        "vmap(lambda a, b: a + b)(x, np.ones(3))", "different extents",
        "y = np.ones(3)\nf = lambda a, b: a + b\nFIX", "A"),
    "an attribute of self": (
        "class A:\n    def loss(self, x):\n        self.last = np.sum(x)\n"
        "        return self.last\na = A()\ngrad(a.loss)(x)", "the attribute `last` of a A",
        "FIX", "A"),
    "a list for a static argument": (
        "jit(lambda x, s: x * len(s), static_argnums=1)(x, [1, 2])", "it must be hashable",
        "FIX", "A"),
    # Python, NumPy or SciPy answer these, not autojit. `autojit mistakes` has pages.
    "a gradient is unpacked as a pair": (
        "v, g = grad(f)(np.ones(3))", "too many values to unpack", "", "B"),
    "minimize(jac=True) of a value alone": (
        "import scipy.optimize\nscipy.optimize.minimize(jit(f), x, jac=True)",
        "invalid index to scalar", "", "B"),
    "loss.backward()": ("jit(f)(x).backward()", "no attribute 'backward'", "", "B"),
}  # fmt: skip


def graded(mistake: str, words: str, program: str) -> tuple[str, str]:
    """Return an answer's grade, and the answer."""
    ending, message = printed(SETUP + mistake, "mistake")
    assert ending == "raises", message
    code = shown(message)
    runs = bool(code and program) and printed(SETUP + pasted(program, code), "fixed")[0] == "runs"
    # that it ends at the user's line, `test_tracebacks` holds for all errors of ours
    points = 1 + bool(re.search(re.escape(words), message)) + runs
    return "DCBA"[points], message


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MISTAKES)
def test_the_grade_of_an_answer(name: str) -> None:
    mistake, words, program, grade = MISTAKES[name]
    found, message = graded(mistake, words, program)
    assert found == grade, message


def test_most_answers_are_good() -> None:
    grades = [row[3] for row in MISTAKES.values()]
    assert len(grades) >= 40
    assert grades.count("A") >= 0.85 * len(grades)
    assert not {"C", "D"} & set(grades)


def test_a_worse_answer_has_a_worse_grade() -> None:
    assert graded("grad(f(x))", "other words", "FIX")[0] == "B"
    assert graded("1 / 0", "other words", "")[0] == "C"
