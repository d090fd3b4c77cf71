"""The kinds that arguments of PyTorch's functions must have, by the arguments' names.

A name has the same meaning in all functions.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.torch.engine.tensor import Tensor
from autojit.tracing.values import is_tracer


class Kind(NamedTuple):
    """A kind of argument: its description in PyTorch's words, and a test for it."""

    words: str
    fits: Callable[[Any], bool]


def _is_whole(x: Any) -> bool:
    try:
        operator.index(x)
    except (TypeError, ValueError, RuntimeError):
        return is_tracer(x)
    return True


def _are_whole(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(map(_is_whole, x))


def is_number(x: Any) -> bool:
    """Whether an object is a number, or an array without axes."""
    if isinstance(x, (int, float, complex, np.number, np.bool_)) or is_tracer(x):
        return True
    return isinstance(x, (Tensor, np.ndarray)) and x.ndim == 0


def _is_tensor(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind not in "OSUMm"
    return isinstance(x, Tensor) or is_tracer(x)


def _are_tensors(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(map(_is_tensor, x))


_BOOL = Kind("bool", lambda x: isinstance(x, (bool, np.bool_)) or (_is_whole(x) and x in (0, 1)))
_INT = Kind("int", _is_whole)
_INTS = Kind("int or tuple of ints", lambda x: _is_whole(x) or _are_whole(x))
_NUMBER = Kind("Number", is_number)
_TENSOR = Kind("Tensor", _is_tensor)
_STR = Kind("str", lambda x: isinstance(x, str))
_OPERAND = Kind("Tensor", lambda x: _is_tensor(x) or is_number(x))

_BY_NAME: dict[str, Kind] = {
    **dict.fromkeys(
        ("input", "A", "B", "weight", "bias", "target", "index", "x1", "x2", "input1", "input2",
         "mask", "tensor", "tensor1", "tensor2", "mat", "mat1", "mat2", "vec", "vec2", "batch1",
         "batch2", "running_mean", "running_var", "query", "key", "condition", "x", "y", "anchor",
         "positive", "negative", "logits", "pos_weight", "sorted_sequence", "boundaries", "L"),
        _TENSOR,
    ),
    **dict.fromkeys(("other", "value", "exponent", "min", "max", "end"), _OPERAND),
    **dict.fromkeys(
        ("dim", "size", "dims", "shape", "stride", "dilation", "kernel_size", "output_size",
         "normalized_shape", "repeats", "output_padding", "shifts", "sizes",
         "split_size_or_sections", "indices_or_sections"), _INTS,
    ),
    "padding": Kind("int, tuple of ints or str", lambda x: _INTS.fits(x) or _STR.fits(x)),
    **dict.fromkeys(
        ("dim0", "dim1", "dim2", "n", "k", "m", "chunks", "groups", "num_groups", "diagonal",
         "offset", "num_samples", "steps", "length", "start_dim", "end_dim", "minlength",
         "num_classes", "ignore_index", "padding_idx", "in_features", "out_features", "in_channels",
         "out_channels", "num_embeddings", "embedding_dim", "num_features", "input_size",
         "hidden_size", "num_layers", "embed_dim", "num_heads", "d_model", "nhead"), _INT,
    ),
    **dict.fromkeys(
        ("eps", "rtol", "atol", "momentum", "alpha", "beta", "margin", "fill_value", "delta",
         "label_smoothing", "lambd", "threshold", "negative_slope", "dropout", "dropout_p", "lr",
         "weight_decay", "start"), _NUMBER,
    ),
    **dict.fromkeys(("unbiased", "requires_grad"), _BOOL),
    "tensors_": Kind("tuple of Tensors", _are_tensors),
    "pad": Kind("tuple of ints", _are_whole),
    "p": Kind("Number or str", lambda x: is_number(x) or _STR.fits(x)),
}  # fmt: skip
#: The kinds of arguments by the classes of their defaults.
_BY_DEFAULT = {bool: _BOOL, str: _STR}
_SIZES = Kind("tuple of ints", lambda x: _are_whole(x[0] if len(x) == 1 else x) or _are_whole(x))
_ANY = Kind("", lambda x: True)


def whole_sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes that are given as separate arguments, or as a tuple."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    for n in size:
        if not _is_whole(n):
            kind = type(n).__name__
            raise TypeError(f"argument 'size' must be tuple of ints, not {kind}: {n!r:.40}")
    return tuple(map(operator.index, size))


def kind_of_argument(parameter: inspect.Parameter) -> Kind:
    """The kind of an argument; for ``*size``, the kind of all of them."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return _SIZES if _BY_NAME.get(parameter.name) is _INTS else _ANY
    kind = _BY_DEFAULT.get(type(parameter.default))
    named = _BY_NAME.get(parameter.name, _ANY)
    return named if kind is None or "str" in named.words else kind


def flags(signature: inspect.Signature | None) -> dict[str, int]:
    """The arguments that must be True or False, with their positions; -1 if keyword-only."""
    found = {}
    for place, parameter in enumerate(signature.parameters.values() if signature else ()):
        if kind_of_argument(parameter) is _BOOL:
            found[parameter.name] = -1 if parameter.kind is parameter.KEYWORD_ONLY else place
    return found
