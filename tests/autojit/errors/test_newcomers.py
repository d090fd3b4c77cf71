"""What a newcomer writes in the first days, and a grade for each answer.

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
    "a text is returned": ("jit(lambda x: 'hi')(x)", "contains 'hi' of type str", "L1", "A"),
    "a mutable default": ("@jit\ndef g(x, seen=[]):\n    seen.append(x)\n    return x\ng(x)",
        "in the default of the argument `seen`", "FIX", "A"),
    "a list outside": ("kept = []\ndef g(x):\n    kept.append(x)\n    return f(x)\ngrad(g)(x)",
        "the global variable `kept`", "FIX", "A"),
    "random numbers": ("jit(lambda x: x + np.random.randn(2))(x)", "would see the same numbers",
        "L0", "A"),
    "a number is formatted": ("jit(lambda x: f'{x:.2f}')(1.0)", "needs the value", "x = 1.0\nL0",
        "A"),
    "shapes do not fit": ("jit(lambda x: x @ np.ones((3, 2)))(x)", "must equal", "", "B"),
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
    "a mask picks": ("jit(lambda x: x[x > 1])(x)", "length depends on a traced value",
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
    "a column by its name": ("jit(lambda x: x['a'])(x)", "has no names of columns", "FIX", "A"),
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
    # In these autojit is not asked: Python, NumPy or SciPy answer. `autojit mistakes` has pages.
    "a gradient is unpacked as a pair": (
        "v, g = grad(f)(np.ones(3))", "too many values to unpack", "", "B"),
    "minimize(jac=True) of a value alone": (
        "import scipy.optimize\nscipy.optimize.minimize(jit(f), x, jac=True)",
        "invalid index to scalar", "", "B"),
    "loss.backward()": ("jit(f)(x).backward()", "no attribute 'backward'", "", "B"),
}  # fmt: skip


def graded(mistake: str, words: str, program: str) -> tuple[str, str]:
    """The grade of an answer, and the answer."""
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
