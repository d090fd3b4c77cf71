"""``torch.nn.utils.parametrize``: tensors of modules that are computed from other parameters.

The module gets a class of its own, in which the tensor is a property. The parameters behind it are
in ``module.parametrizations``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.tensor import Tensor
from autojit.torch.nn.containers import ModuleDict, ModuleList
from autojit.torch.nn.module import Module
from autojit.torch.nn.parameter import Parameter


class _Cache:
    #: The tensors computed in :func:`cached`, by module and name; None outside.
    known: dict[tuple[int, str], Tensor] | None = None


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensors that the first one reads.

    These are called ``original``, or ``original0``, ``original1``, … if ``right_inverse`` of the
    first one returns several.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe: bool = unsafe
        self.shape: tuple[int, ...] = tuple(original.shape)
        with no_grad():
            new = original
            for module in reversed(list(modules)):
                if hasattr(module, "right_inverse"):
                    new = module.right_inverse(new)
        self.is_tensor: bool = isinstance(new, Tensor)
        if self.is_tensor:
            _set(original, new)
            _hold(self, "original", original)
            self.ntensors = 1
            return
        if not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.ntensors = len(new)
        for k, part in enumerate(new):
            if isinstance(original, Parameter):
                part = Parameter(part.detach().clone(), original.requires_grad)
            _hold(self, f"original{k}", part)

    def originals(self) -> list[Tensor]:
        """The tensors that the first parametrization reads."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{k}") for k in range(self.ntensors)]

    def forward(self) -> Tensor:
        """The tensor that the parametrizations compute."""
        first, *others = self
        x: Tensor = first(*self.originals())
        for module in others:
            x = module(x)
        return x

    def right_inverse(self, value: Tensor) -> None:
        """Set the original tensors so that the computed tensor becomes ``value``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            for old, new in zip(
                self.originals(), [value] if self.is_tensor else value, strict=True
            ):
                _set(old, new)

    def check(self, dtype: Any) -> None:
        """Raise unless the computed tensor has the type of the original one."""
        if self.unsafe:
            return
        made = self()
        for what, old, new in (
            ("dtype", dtype, made.dtype), ("shape", self.shape, tuple(made.shape)),
        ):  # fmt: skip
            if old != new:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {what}: {old}\n"
                    f"parametrized {what}: {new}"
                )


def _set(old: Tensor, new: Tensor) -> None:
    """Give a tensor other numbers; it stays the object that an optimizer knows."""
    if old.dtype != new.dtype:
        raise ValueError(
            "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
            f"original.dtype: {old.dtype}\nright_inverse(original).dtype: {new.dtype}"
        )
    if new is not old:
        old.data = new.detach()


def _hold(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module from others, and return the module.

    Args:
        module: the module.
        tensor_name: the name of its parameter or buffer.
        parametrization: a module that maps the original tensor to the one that is used. It may have
            a method ``right_inverse``, by which ``module.weight = x`` is possible.
        unsafe: whether the shape and the dtype may change.

    Raises:
        ValueError: if the module has no such tensor, or its shape or dtype would change.

    >>> from autojit import torch
    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    ...     def right_inverse(self, x):
    ...         return x.log()
    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> layer.weight.data.fill_(1.0) and None
    >>> layer = register_parametrization(layer, "weight", Positive())
    >>> layer(torch.ones(1)).item(), layer.parametrizations.weight.original.item()
    (1.0, 0.0)
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        held: Any = module.parametrizations[tensor_name]
        dtype = getattr(module, tensor_name).dtype
        if hasattr(parametrization, "right_inverse") and held.is_tensor:
            with no_grad():
                _set(held.original, parametrization.right_inverse(held.original))
        held.append(parametrization)
        held.unsafe = held.unsafe or unsafe
        held.check(dtype)
        return module
    tables = module._parameters, module._buffers
    table: Any = next((t for t in tables if tensor_name in t), None)
    if table is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = table[tensor_name]
    listed = ParametrizationList([parametrization], original, unsafe)
    listed.check(original.dtype)
    del table[tensor_name]
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = listed
    _set_class(module)
    return module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor a parameter or buffer again, and return the module.

    Args:
        module: the module.
        tensor_name: the name of the tensor.
        leave_parametrized: whether the tensor keeps its computed numbers; if not, it gets back the
            original ones.

    Raises:
        ValueError: if the tensor has no parametrization.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held: Any = module.parametrizations[tensor_name]
    if not (held.is_tensor or leave_parametrized):
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    original = held.originals()[0]
    if leave_parametrized:
        with no_grad():
            made = held().detach().clone()
        if held.is_tensor:
            original.data = made
        elif isinstance(original, Parameter):
            original = Parameter(made, original.requires_grad)
        else:
            original = made
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
    _set_class(module)
    _hold(module, tensor_name, original)
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of the named tensor."""
    held: Any = module._modules.get("parametrizations")
    if held is None or "_unparametrized" not in type(module).__dict__:
        return False
    return tensor_name is None or tensor_name in held


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is computed only once."""
    before = _Cache.known
    _Cache.known = {} if before is None else before
    try:
        yield
    finally:
        _Cache.known = before


def _set_class(module: Module) -> None:
    """Give a module the class in which its parametrized tensors are properties."""
    kind = type(module)
    plain: Any = kind.__dict__.get("_unparametrized", kind)
    held: Any = module._modules.get("parametrizations")
    if held is None:
        object.__setattr__(module, "__class__", plain)
        return
    body: dict[str, Any] = {name: _property(name) for name in held}
    body.update(_unparametrized=plain, __reduce_ex__=_unpicklable, __deepcopy__=_copied)
    made = type(f"Parametrized{plain.__name__}", (plain,), body)
    object.__setattr__(module, "__class__", made)


def _property(name: str) -> property:
    def computed(self: Any) -> Any:
        known = _Cache.known
        if known is None:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in known:
            known[key] = self.parametrizations[name]()
        return known[key]

    def assigned(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(computed, assigned)


def _unpicklable(self: Any, protocol: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict():\n"
        "    torch.save(model.state_dict(), path)"
    )


def _copied(self: Any, memo: Any) -> Any:
    import copy

    made = object.__new__(type(self))
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made
