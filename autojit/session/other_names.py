"""Names of other libraries that a newcomer looks for in `autojit` and in its functions."""

from __future__ import annotations

from collections.abc import Iterable

from autojit.spelling import closest

_NUMBA, _JAX, _TORCH, _HIPS = "Numba's", "JAX's", "PyTorch's", "HIPS autograd's"
_MANY = ""  # several have it

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
    "config": (_JAX, "x = x.astype(np.float32)"),
    "gradient": (_MANY, "autojit.grad(f)(x)"),
    "derivative": (_MANY, "autojit.grad(f)(x)"),
    "diff": (_MANY, "autojit.grad(f)(x)"),
    "value_and_gradient": (_MANY, "autojit.value_and_grad(f)(x)"),
    "array": (_MANY, "x = np.array([1.0, 2.0])"),
    "Variable": (_MANY, "x = np.array([1.0, 2.0])"),
    "GradientTape": (_MANY, "autojit.grad(f)(x)"),
    "function": (_MANY, "autojit.jit(f)(x)"),
    "jacobian": (_HIPS, "autojit.jacrev(f)(x)"),
    "elementwise_grad": (_HIPS, "autojit.vmap(autojit.grad(f))(x)"),
    "hessian_vector_product": (_HIPS, "autojit.hvp(f)(x, v)"),
    "grad_and_value": (_HIPS, "autojit.value_and_grad(f)(x)"),
    "check_grads": (_HIPS, "from autojit.testing import check_grads"),
    "tensor": (_TORCH, "import autojit.torch as torch"),
    "Tensor": (_TORCH, "import autojit.torch as torch"),
    "no_grad": (_TORCH, "import autojit.torch as torch"),
    "backward": (_TORCH, "autojit.grad(f)(x)"),
    "compile": (_TORCH, "autojit.jit(f)(x)"),
    "func": (_TORCH, "from autojit import grad, hessian, jacrev, jvp, vjp, vmap"),
}
#: The same of attributes of compiled and transformed functions.
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
#: What compiled functions have, and transformed ones do not.
_COMPILED = ("lower", "explain", "cache_info")


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
    return f"{words}.{near}" if near else words


def no_such_attribute(owner: str, name: str, made: str = "f") -> str:
    """The message about an attribute that a function of ours does not have.

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
