"""The tensor: an array and its recorded history."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from autojit.ir.core.halves import is_bfloat16, kind_of
from autojit.session.tracebacks import fold, folded
from autojit.tracing.tracer import Tracer

from . import dtypes
from .modes import enable_grad, modes
from .nodes import Edge, Handle, Node, add_hook
from .recording import Kind, counter_of, edge_of, frozen, record, wrap
from .shapes import Device, Size
from .widening import plain


class Tensor:
    """An array with PyTorch's methods, and a gradient."""

    __slots__ = (
        "__dict__", "__weakref__", "_accumulate_ref", "_base", "_counter", "_data", "_edge",
        "_grad", "_hooks", "_needs",
    )  # fmt: skip
    __array_priority__: float = 2000.0

    if TYPE_CHECKING:
        _data: Any
        _needs: bool
        _edge: Edge | None
        _counter: list[int] | None
        _base: Any
        _accumulate_ref: Any
        _hooks: Any
        _grad: Any

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __setitem__(self, index: Any, new: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    # -- properties -----------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self._data.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.of(self._data.dtype)

    @property
    def ndim(self) -> int:
        return int(self._data.ndim)

    @property
    def device(self) -> Any:
        return Device("cpu")

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is not the result of a recorded operation."""
        return self.grad_fn is None

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        if self._base is not None:
            self._current_edge()
        return self._needs

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether operations on the tensor are recorded, and return the tensor."""
        if requires_grad and kind_of(self._data.dtype) not in "fc":
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if self._edge is not None and not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        self._needs = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that computed the tensor; None for a leaf."""
        edge = self._edge if self._base is None else self._current_edge()
        return None if edge is None else edge[0]

    @property
    def output_nr(self) -> int:
        """The tensor's number among the results of its operation."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def _version(self) -> int:
        return counter_of(self)[0]

    @property
    def data(self) -> Tensor:
        """A tensor of the same array without recorded history."""
        made: Tensor = wrap(frozen(self._data))
        if made._data is not self._data:
            made.__dict__["is_copy"] = True
        return made

    @data.setter
    def data(self, new: Tensor) -> None:
        if self._needs and kind_of(new._data.dtype) not in "fc":
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                f"dtype, not {new.dtype!r}. Convert it: x.data = new.to(x.dtype)"
            )
        self._data = new._data

    # -- gradients ------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """The gradient accumulated by backward passes; None before the first one."""
        return self._grad

    @grad.setter
    def grad(self, new: Any) -> None:
        if new is not None:
            check_gradient(self, new)
        self._grad = new

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor to the ``grad`` of the leaves it was computed from.

        Args:
            gradient: the vector that multiplies the Jacobian; may be omitted for a single number.
            retain_graph: whether the graph is kept for another backward pass.
            create_graph: whether the backward pass is recorded, for higher derivatives.
            inputs: the tensors whose gradients are wanted; all leaves by default.
        """
        from .gradients import backward

        try:
            backward(self, gradient, retain_graph, create_graph, inputs=inputs)
        except Exception as error:
            fold(error)
            raise

    def retain_grad(self) -> None:
        """Keep the gradient in ``grad``, although this tensor is not a leaf."""
        edge = self._edge if self._base is None else self._current_edge()
        if edge is None:
            if not self._needs:
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            return
        node, k = edge
        if not node.retains(k, self):
            node.extra().retained.append((k, weakref.ref(self)))

    @property
    def retains_grad(self) -> bool:
        """Whether this tensor is not a leaf and keeps its gradient."""
        edge = self._edge if self._base is None else self._current_edge()
        return bool(edge and edge[0].retains(edge[1], self))

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call ``hook(grad)`` with this tensor's gradient; its result replaces the gradient."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, k = edge_of(self)
        if self.is_leaf:
            self._keep("accumulator", node)
        return add_hook(node.extra().tensor_hooks.setdefault(k, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Handle:
        """Call ``hook(tensor)`` after a gradient has been added to a leaf's ``grad``."""
        if not self.is_leaf or not self._needs:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        self._keep("after", {})
        return add_hook(self._hooks["after"], hook)

    def _keep(self, name: str, thing: Any) -> None:
        self._hooks = {name: thing, **(self._hooks or {})}

    def detach(self) -> Tensor:
        """A tensor that shares this one's memory, without recorded history."""
        made = self.data
        made._counter = counter_of(self)
        return made

    def detach_(self) -> Tensor:
        """Drop the recorded history."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead:\n    y = x[0].detach()"
            )
        self._data = frozen(self._data)
        self._edge, self._needs, self._base = None, False, None
        return self

    # -- views ----------------------------------------------------------------

    def _current_edge(self) -> Any:
        """The edge of a view's gradient, recorded again if the base's history has changed."""
        base, steps, seen = self._base
        now = base._edge
        is_cut = now is None and seen is not None  # by detach_(); views keep their history
        if now is not seen and not is_cut:
            again = base
            with enable_grad():
                for operation, static in steps:
                    again = record(operation, (again,), static)
            before, self._edge, self._needs = self._edge, again._edge, again._needs
            self._base = (base, steps, now)
            if before is not None and self._edge is not None and before[0].retains(before[1], self):
                before[0].give_up(before[1], self)
                self.retain_grad()
        return self._edge

    # -- conversions ----------------------------------------------------------

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self._data.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._data.size} elements cannot be converted to Scalar"
            )
        return plain(self._data).item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return plain(self._data).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array, which shares memory with the tensor."""
        if self.requires_grad and modes.grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        data: np.ndarray = self._data
        if is_bfloat16(data.dtype):  # NumPy has no such dtype, and PyTorch refuses too
            raise TypeError("Got unsupported ScalarType BFloat16. Use tensor.float().numpy().")
        return data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        try:
            array = self.numpy()
        except RuntimeError as error:
            fold(error)
            raise
        return np.array(array, dtype) if copy else np.asarray(array, dtype)

    @folded
    def cuda(self, device: Any = None) -> Device:
        """Not supported: an eager tensor is in CPU memory."""
        return Device("cuda")

    def __array_wrap__(self, array: Any, *rest: Any) -> Tensor:
        return wrap(np.asarray(array))

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with "
                f"{'no values' if not self._data.size else 'more than one value'} is ambiguous"
            )
        return bool(self._data)

    def _number(self) -> Any:
        if self._data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return plain(self._data).item()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, x: Any) -> bool:
        return bool((self == x)._data.any())

    if not TYPE_CHECKING:  # type checkers take it from object
        __hash__ = object.__hash__

    def __repr__(self) -> str:
        from .printing import text

        return text(self)

    def __format__(self, spec: str) -> str:
        if not self.shape and spec and not isinstance(self._data, Tracer):
            return format(self.item(), spec)
        return format(repr(self), spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment."
            )
        made: Any = self.__class__.__new__(self.__class__)
        fresh = wrap(self._data.copy())
        for name in ("_data", "_edge", "_counter", "_base", "_accumulate_ref", "_hooks"):
            setattr(made, name, getattr(fresh, name))
        made._needs = self._needs
        made._grad = None if self._grad is None else self._grad.clone()
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (np.asarray(self._data), self._needs)


def check_gradient(x: Tensor, new: Any) -> None:
    """Raise, with PyTorch's message, unless ``new`` can be the gradient of ``x``."""
    if not isinstance(new, Tensor):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(new).__name__}"
        )
    if new is x:
        raise RuntimeError("can't assign Variable as its own grad")
    if new._data.shape != x._data.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(new.shape)}' to a tensor of size "
            f"'{list(x.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if new._data.dtype != x._data.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{new.dtype.name}' to a tensor with dtype "
            f"'{x.dtype.name}'. Convert it: x.grad = gradient.to(x.dtype)"
        )


def _rebuilt(array: np.ndarray, needs: bool) -> Tensor:
    made: Tensor = wrap(array)
    made._needs = needs
    return made


Kind.tensor = Tensor
