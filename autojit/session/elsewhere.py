"""Attributes of other libraries' arrays, and the code to write here instead."""

from __future__ import annotations

import numpy as np

from autojit.spelling import closest

_JAX, _TORCH, _PANDAS = "JAX's arrays", "PyTorch's tensors", "pandas"
_LIST = "Python's lists"

#: By the attribute: the library, the code to write here, and the library's code.
_ATTRIBUTES = {
    "at": (_JAX, "y = x.copy(); y[i] = v", "y = x.at[i].set(v)"),
    "block_until_ready": (_JAX, "f(x)", "f(x).block_until_ready()"),
    "backward": (_TORCH, "grad(f)(x)", "f(x).backward()"),
    "grad": (_TORCH, "grad(f)(x)", "x.grad"),
    "requires_grad": (_TORCH, "grad(f, argnums=0)(x)", "x.requires_grad = True"),
    "requires_grad_": (_TORCH, "grad(f, argnums=0)(x)", "x.requires_grad_()"),
    "detach": (_TORCH, "autojit.stop_gradient(x)", "x.detach()"),
    "numpy": (_TORCH, "x", "x.numpy()"),
    "cpu": (_TORCH, "x", "x.cpu()"),
    "cuda": (_TORCH, "jit(f, device='cuda')(x)", "f(x.cuda())"),
    "to": (_TORCH, "x.astype(np.float32)", "x.to(torch.float32)"),
    "float": (_TORCH, "x.astype(np.float32)", "x.float()"),
    "double": (_TORCH, "x.astype(np.float64)", "x.double()"),
    "long": (_TORCH, "x.astype(np.int64)", "x.long()"),
    "permute": (_TORCH, "x.transpose(1, 0)", "x.permute(1, 0)"),
    "unsqueeze": (_TORCH, "np.expand_dims(x, 0)", "x.unsqueeze(0)"),
    "expand": (_TORCH, "np.broadcast_to(x, shape)", "x.expand(shape)"),
    "numel": (_TORCH, "x.size", "x.numel()"),
    "clone": (_TORCH, "x.copy()", "x.clone()"),
    "abs": (_TORCH, "np.abs(x)", "x.abs()"),
    "exp": (_TORCH, "np.exp(x)", "x.exp()"),
    "log": (_TORCH, "np.log(x)", "x.log()"),
    "sqrt": (_TORCH, "np.sqrt(x)", "x.sqrt()"),
    "append": (_LIST, "x = np.append(x, 1.0)", "x.append(1.0)"),
    "extend": (_LIST, "x = np.concatenate([x, x])", "x.extend(x)"),
    "insert": (_LIST, "x = np.insert(x, 0, 1.0)", "x.insert(0, 1.0)"),
    "pop": (_LIST, "last, x = x[-1], x[:-1]", "last = x.pop()"),
    "index": (_LIST, "np.argmax(x == 1.0)", "x.index(1.0)"),
    "iloc": (_PANDAS, "x[i]", "x.iloc[i]"),
    "values": (_PANDAS, "x", "x.values"),
    "to_numpy": (_PANDAS, "x", "x.to_numpy()"),
}


def closest_of_arrays(name: str) -> str:
    """The end of a message about a missing attribute: a similar one of NumPy's arrays, if any.

    >>> print("no attribute 'summ'" + closest_of_arrays("summ"))
    no attribute 'summ'. Did you mean sum?
    """
    near = closest(name, [n for n in dir(np.ndarray) if not n.startswith("_")])
    return f".{near}" if near else ""


def of_others(name: str) -> str:
    """The end of a message about an attribute that NumPy's arrays do not have.

    >>> print("no attribute 'clone'" + of_others("clone"))
    no attribute 'clone'. PyTorch's tensors have it; for an array:
        x.copy()                           # not: x.clone()
    """
    if name not in _ATTRIBUTES:
        return ""
    library, ours, theirs = _ATTRIBUTES[name]
    owners = f"{library} have it" if library != _PANDAS else "pandas has it"
    return f". {owners}; for an array:\n    {ours:<34} # not: {theirs}"
