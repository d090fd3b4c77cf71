"""Names of other libraries that newcomers look for in `autojit` and in its functions."""

from __future__ import annotations

import dis
from collections.abc import Iterable
from types import FrameType

from autojit.spelling import closest

_NUMBA, _JAX, _TORCH, _HIPS = "Numba's", "JAX's", "PyTorch's", "HIPS autograd's"
_MANY = ""  # several libraries

#: By the name in the module: the library, and code that does the same here.
IN_MODULE = {
    "njit": (_NUMBA, "from autojit import jit"),
    "prange": (_NUMBA, "for i in range(n): pass"),
    "vectorize": (_NUMBA, "autojit.vmap(f)(x)"),
    "guvectorize": (_NUMBA, "autojit.vmap(f)(x)"),
    "jnp": (_JAX, "import numpy as np"),
    "np": (_HIPS, "import numpy as np"),
    "lax": (_JAX, "from autojit import cond, fori_loop, scan, switch, while_loop"),
    "random": (_JAX, "rng = np.random.default_rng(0)"),
    "tree_map": (_JAX, "import optree; optree.tree_map(f, x)"),
    "tree_util": (_JAX, "import optree; optree.tree_map(f, x)"),
    "tree": (_JAX, "import optree; optree.tree_map(f, x)"),
    "make_jaxpr": (_JAX, "autojit.trace(f)(x)"),
    "eval_shape": (_JAX, "autojit.trace(f)(x).out_types"),
    "pmap": (_JAX, "autojit.vmap(f)(x)"),
    "config": (_JAX, "x = np.asarray(x, np.float32)      # no setting: float64 stays float64"),
    "Array": (_JAX, "from numpy import ndarray"),
    "PRNGKey": (_JAX, "rng = np.random.default_rng(0)"),
    "tree_leaves": (_JAX, "import optree; optree.tree_leaves(x)"),
    "tree_flatten": (_JAX, "import optree; optree.tree_flatten(x)"),
    "pmean": (_JAX, "np.mean(x, axis=0)"),
    "psum": (_JAX, "np.sum(x, axis=0)"),
    "remat": (_JAX, "autojit.checkpoint(f)(x)"),
    "block_until_ready": (_JAX, "autojit.jit(f)(x)"),
    "debug": (_JAX, "with autojit.disable_jit(): f(x)"),
    "custom_gradient": (_JAX, "from autojit import custom_vjp"),
    "gradient": (_MANY, "autojit.grad(f)(x)"),
    "derivative": (_MANY, "autojit.grad(f)(x)"),
    "diff": (_MANY, "autojit.grad(f)(x)"),
    "explain": (_MANY, "print(autojit.jit(f).explain(x))"),
    "lower": (_MANY, "autojit.jit(f).lower(x)"),
    "picture": (_MANY, "autojit.drawing.picture(f, x)"),
    "minimize": (_MANY, "from scipy.optimize import minimize"),
    "odeint": (_MANY, "from autojit.ode import odeint"),
    "solve_ivp": (_MANY, "from autojit.ode import solve_ivp"),
    "assert_no_retrace": (_MANY, "from autojit.testing import assert_no_retrace"),
    "value_and_gradient": (_MANY, "autojit.value_and_grad(f)(x)"),
    "array": (_MANY, "x = np.array([1.0, 2.0])"),
    "Variable": (_MANY, "x = np.array([1.0, 2.0])"),
    "GradientTape": (_MANY, "autojit.grad(f)(x)"),
    "function": (_MANY, "autojit.jit(f)(x)"),
    "jacobian": (_HIPS, "autojit.jacrev(f)(x)"),
    "elementwise_grad": (_HIPS, "autojit.vmap(autojit.grad(f))(x)"),
    "holomorphic_grad": (_HIPS, "autojit.grad(f, holomorphic=True)(x + 0j)"),
    "make_vjp": (_HIPS, "value, pull_back = autojit.vjp(f, x)"),
    "make_jvp": (_HIPS, "value, slope = autojit.jvp(f, (x,), (x,))"),
    "primitive": (_HIPS, "from autojit import custom_vjp"),
    "defvjp": (_HIPS, "from autojit import custom_vjp"),
    "hessian_vector_product": (_HIPS, "autojit.hvp(f)(x, v)"),
    "grad_and_value": (_HIPS, "autojit.value_and_grad(f)(x)"),
    "check_grads": (_HIPS, "from autojit.testing import check_grads"),
    "tensor": (_TORCH, "import autojit.torch as torch"),
    "Tensor": (_TORCH, "import autojit.torch as torch"),
    "no_grad": (_TORCH, "import autojit.torch as torch"),
    "Module": (_TORCH, "from autojit.torch.nn import Module"),
    "Linear": (_TORCH, "from autojit.nn import Linear"),
    "Adam": (_TORCH, "from autojit.optim import adam"),
    "SGD": (_TORCH, "from autojit.optim import sgd"),
    "manual_seed": (_TORCH, "rng = np.random.default_rng(0)"),
    "backward": (_TORCH, "autojit.grad(f)(x)"),
    "compile": (_TORCH, "autojit.jit(f)(x)"),
    "func": (_TORCH, "from autojit import grad, hessian, jacrev, jvp, vjp, vmap"),
}
#: The same for attributes of compiled and transformed functions.
OF_FUNCTION = {
    "py_func": (_NUMBA, "f.__wrapped__"),
    "inspect_llvm": (_NUMBA, 'f.lower(x).text("llvm")'),
    "inspect_asm": (_NUMBA, 'f.lower(x).text("asm")'),
    "inspect_types": (_NUMBA, "print(autojit.trace(f)(x))"),
    "parallel_diagnostics": (_NUMBA, "print(f.explain(x))"),
    "signatures": (_NUMBA, "f.cache_info()"),
    "recompile": (_NUMBA, "f = autojit.jit(f.__wrapped__)"),
    "clear_cache": (_JAX, "f = autojit.jit(f.__wrapped__)"),
    "eval_shape": (_JAX, "autojit.trace(f)(x).out_types"),
    "trace": (_JAX, "autojit.trace(f)(x)"),
    "forward": (_TORCH, "f(x)"),
    "backward": (_TORCH, "autojit.grad(f)(x)"),
    "grad": (_TORCH, "autojit.grad(f)(x)"),
    "parameters": (_TORCH, "autojit.grad(f)(x)"),
    "step": (_TORCH, "f(x)"),
}
#: Attributes that compiled functions have, but transformed ones do not.
_COMPILED = ("lower", "explain", "cache_info")


def missing(name: str, known: Iterable[str], asker: FrameType) -> AttributeError | ImportError:
    """The error for a name that `autojit` does not have.

    ``from autojit import pmap`` turns an AttributeError into an ImportError with Python's message.
    So if ``asker`` runs such a statement, the error is an ImportError with our message.
    """
    words = no_such_name(name, known)
    code, at = asker.f_code.co_code, asker.f_lasti
    if at >= 0 and dis.opname[code[at]] == "IMPORT_FROM":
        words = words.replace("module 'autojit' has no attribute", "autojit has no", 1)
        return ImportError(words, name=name)
    return AttributeError(words, name=name)


def no_such_name(name: str, known: Iterable[str]) -> str:
    """The message about a name that `autojit` does not have.

    >>> print(no_such_name("njit", ()))
    module 'autojit' has no attribute 'njit'. It is Numba's; here:
        from autojit import jit
    """
    words = f"module 'autojit' has no attribute {name!r}"
    if name in IN_MODULE:
        library, code = IN_MODULE[name]
        return f"{words}. {f'It is {library}; here' if library else 'Here'}:\n    {code}"
    near = closest(name, known)
    if near:
        return f"{words}.{near}"
    return f"{words}. It is NumPy's:\n    from numpy import {name}" if _is_numpys(name) else words


def _is_numpys(name: str) -> bool:
    import numpy as np

    return hasattr(np, name)


def no_such_attribute(owner: str, name: str, made: str = "f") -> str:
    """The message about an attribute that one of our functions does not have.

    >>> print(no_such_attribute("Transformed", "lower", "grad(f)"))
    'Transformed' object has no attribute 'lower'. Compile the function first:
        autojit.jit(autojit.grad(f)).lower(x)
    """
    words = f"{owner!r} object has no attribute {name!r}"
    if name in _COMPILED:
        more = "" if name == "cache_info" else "x"
        return (
            f"{words}. Compile the function first:\n    autojit.jit(autojit.{made}).{name}({more})"
        )
    if name in OF_FUNCTION:
        library, code = OF_FUNCTION[name]
        return f"{words}. It is {library}; here:\n    {code}"
    return words
