"""The base class of modules: parameters, buffers and submodules by name, and calls with hooks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from autojit.session.tracebacks import fold, folded
from autojit.torch.engine import dtypes
from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.nodes import Handle, add_hook
from autojit.torch.engine.shapes import Device
from autojit.torch.engine.tensor import Tensor

from . import state
from .hooks import BackwardWatch
from .parameter import Buffer, Parameter

_TABLES = ("_parameters", "_buffers", "_modules")
Own = TypeVar("Own", bound="Module")
Hooks = dict[int, Callable[..., Any]]


class Module:
    """A part of a network, with parameters, buffers and further modules as its attributes.

    >>> from autojit import torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(3.0))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(torch.ones(2))
    tensor([3., 3.], grad_fn=<MulBackward0>)
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _not_saved: set[str]
    _before: Hooks
    _after: Hooks
    _backward_hooks: Hooks

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            wrong = f"'{next(iter(kwargs))}'" if kwargs else f"{len(args)} positional arguments"
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected argument {wrong}")
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={}, _not_saved=set(), _before={},
            _after={}, _backward_hooks={},
        )  # fmt: skip

    # -- calls ----------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result of a call; each module defines this method."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not (self._before or self._after or self._backward_hooks):
                return self.forward(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        except Exception as error:
            fold(error)
            raise

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook in list(self._before.values()):
            made = hook(self, args)
            if made is not None:
                args = made if isinstance(made, tuple) else (made,)
        watch = BackwardWatch(self, list(self._backward_hooks.values()))
        args = watch.entered(args)
        result = self.forward(*args, **kwargs)
        for hook in list(self._after.values()):
            made = hook(self, args, result)
            result = result if made is None else made
        return watch.left(result)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, args)`` before each call; its result replaces the arguments."""
        return add_hook(self._before, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, args, output)`` after each call; its result replaces the output."""
        return add_hook(self._after, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(module, grad_input, grad_output)`` after the module's backward pass.

        Its result replaces ``grad_input``, the gradients of the tensors among the positional
        arguments of a call.
        """
        return add_hook(self._backward_hooks, hook)

    # -- attributes -----------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        if "_parameters" not in tables:
            if isinstance(value, (Parameter, Module)):
                kind = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Parameter):
            self._place("_parameters", name, value)
        elif isinstance(value, Module):
            self._place("_modules", name, value)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        else:
            self._assign(name, value)

    def _place(self, table: str, name: str, value: Any) -> None:
        for t in (self.__dict__, *(self.__dict__[other] for other in _TABLES if other != table)):
            t.pop(name, None)
        self.__dict__[table][name] = value

    def _assign(self, name: str, value: Any) -> None:
        """Set an attribute, or a new value of a parameter, a module or a buffer."""
        for table, kind in zip(_TABLES, ("parameter", "buffer", "child module"), strict=True):
            if name in self.__dict__[table]:
                if value is not None and not (kind == "buffer" and isinstance(value, Tensor)):
                    wanted = {
                        "parameter": "torch.nn.Parameter or None",
                        "buffer": "torch.Tensor or None",
                        "child module": "torch.nn.Module or None",
                    }[kind]
                    raise TypeError(
                        f"cannot assign '{state.type_name(value)}' as {kind} '{name}' "
                        f"({wanted} expected)"
                    )
                self.__dict__[table][name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for table in _TABLES:
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in _TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._not_saved.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(n for t in _TABLES for n in self.__dict__[t])})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None to reserve its name."""
        state.check_name(self, name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{state.type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not a parameter; it is part of the state if ``persistent``."""
        state.check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{state.type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a module."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{state.type_name(module)} is not a Module subclass")
        state.check_name(self, name, "module", self._modules)
        self._modules[name] = module

    # -- contents -------------------------------------------------------------

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all submodules, with their paths."""
        seen = set() if memo is None else memo
        if id(self) in seen:
            return
        if remove_duplicate:
            seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all submodules."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

    def _named(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        found = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in found:
            for name, value in module.__dict__[table].items():
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters, with their paths."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers, with their paths."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def get_submodule(self, target: str) -> Module:
        """The module at a path."""
        found: Any = self
        for name in filter(None, target.split(".")):
            if not isinstance(found._modules.get(name), Module):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            found = found._modules[name]
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path."""
        path, _, name = target.rpartition(".")
        found: Parameter = getattr(self.get_submodule(path), name)
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"{type(module).__name__} has no buffer `{name}`")
        found: Tensor = getattr(module, name)
        return found

    # -- changes --------------------------------------------------------------

    def train(self: Own, mode: bool = True) -> Own:
        """Set whether dropout is active and batch norms use batch statistics; return the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Own) -> Own:
        """``train(False)``."""
        return self.train(False)

    def apply(self: Own, fn: Callable[[Module], Any]) -> Own:
        """Call a function with each module, this one last; return this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def requires_grad_(self: Own, requires_grad: bool = True) -> Own:
        """Set whether operations on the parameters are recorded; return the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or set them to zeros."""
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else p.grad.detach() * 0

    def to(self: Own, *args: Any, dtype: Any = None, device: Any = None, **_: Any) -> Own:
        """Convert all floating-point tensors to a dtype, and return the module."""
        for a in args:
            if isinstance(a, (dtypes.dtype, Tensor)):
                dtype = a.dtype if isinstance(a, Tensor) else a
            else:
                device = a
        if device is not None:
            Device(str(device))
        return self if dtype is None else self._converted(dtype)

    def _converted(self: Own, dtype: Any) -> Own:
        if not dtype.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype!r}"
            )
        with no_grad():
            for x in (*self.parameters(), *self.buffers()):
                if x.is_floating_point():
                    x.data = x.detach().to(dtype)
                    x.grad = None if x.grad is None else x.grad.detach().to(dtype)
        return self

    def float(self: Own) -> Own:
        """Convert all floating-point tensors to float32."""
        return self._converted(dtypes.float32)

    def double(self: Own) -> Own:
        """Convert all floating-point tensors to float64."""
        return self._converted(dtypes.float64)

    def half(self: Own) -> Own:
        """Convert all floating-point tensors to float16."""
        return self._converted(dtypes.float16)

    def bfloat16(self: Own) -> Own:
        """Convert all floating-point tensors to bfloat16."""
        return self._converted(dtypes.bfloat16)

    def cpu(self: Own) -> Own:
        """Return the module, which is always in CPU memory."""
        return self

    @folded
    def cuda(self: Own, device: Any = None) -> Own:
        """Not supported: eager tensors are in CPU memory."""
        return self.to(device="cuda")

    # -- state ----------------------------------------------------------------

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:
        """All parameters and persistent buffers, by their paths."""
        return state.state_dict(self, prefix, keep_vars)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Copy tensors into the parameters and buffers of the same paths."""
        return state.load_state_dict(self, state_dict, strict, assign)

    def extra_repr(self) -> str:
        """The settings that the text of the module shows."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return state.text(self)
