"""The libraries: how each compiles and calls a program on its arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy

from bench.on_gpu.namespace import Namespace
from bench.on_gpu.programs import Program
from bench.peer import numpy_arrays
from bench.workload import Arrays, as_tuple

Call = Callable[[], Any]


class Library(Protocol):
    """A library in its own process.  All methods raise what the library raises."""

    def __init__(self, device: str) -> None:
        """``device`` is ``"cuda"``, or ``"cpu"`` for a run without a card."""

    def about(self) -> str:
        """The library's name and version, and its device."""

    def bind(self, program: Program, arrays: Sequence[numpy.ndarray]) -> Call:
        """A call of the compiled program on arrays that are on the device already."""

    def finish(self, result: Any) -> None:
        """Wait until a result, and with it everything before, is computed."""

    def arrays(self, result: Any) -> Arrays:
        """A result as NumPy arrays."""


def argnums_of(program: Program) -> int | tuple[int, ...]:
    return program.argnums[0] if len(program.argnums) == 1 else program.argnums


class Autojit:
    def __init__(self, device: str) -> None:
        import scipy.special

        import autojit

        self._autojit, self._device, self._special = autojit, device, scipy.special

    def about(self) -> str:
        where = "the CPU" if self._device == "cpu" else self._card().model
        return f"autojit {self._autojit.__version__} on {where}"

    def _card(self) -> Any:
        from autojit.codegen.cuda.driver.cards import card

        return card()

    def _added(self, x: Any, places: Any, values: Any) -> Any:
        made = x.copy()
        numpy.add.at(made, places, values)
        return made

    def function(self, program: Program) -> Callable[..., Any]:
        """The function, or its gradient, before it is compiled."""
        ours = self._autojit
        named = {name: getattr(ours, name) for name in ("scan", "while_loop", "fori_loop", "vmap")}
        named.update(sort=numpy.sort, maximum=numpy.maximum, added=self._added)
        function = program.make(Namespace(numpy, self._special, named))
        return ours.grad(function, argnums_of(program)) if program.argnums else function

    def bind(self, program: Program, arrays: Sequence[numpy.ndarray]) -> Call:
        compiled = self._autojit.jit(self.function(program), device=self._device)
        there = [self._autojit.device_put(a, self._device) for a in arrays]
        return lambda: compiled(*there)

    def finish(self, result: Any) -> None:
        if self._device != "cpu":
            self._card().synchronize()

    def arrays(self, result: Any) -> Arrays:
        return numpy_arrays(result)


class Cpu(Autojit):
    """autojit on the CPU: the reference for the results."""

    def __init__(self, device: str) -> None:
        super().__init__("cpu")


class Jax:
    def __init__(self, device: str) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax
        import jax.numpy
        import jax.scipy.special

        jax.config.update("jax_platforms", device)
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_matmul_precision", "highest")  # no tf32, as in autojit
        self._jax, self._device = jax, jax.devices(device)[0]

    def about(self) -> str:
        return f"JAX {self._jax.__version__} on {self._device.device_kind}"

    def bind(self, program: Program, arrays: Sequence[numpy.ndarray]) -> Call:
        jax, np = self._jax, self._jax.numpy
        named = {name: getattr(jax.lax, name) for name in ("scan", "while_loop", "fori_loop")}
        named.update(vmap=jax.vmap, sort=np.sort, maximum=np.maximum)
        named["added"] = lambda x, places, values: x.at[places].add(values)
        function = program.make(Namespace(np, jax.scipy.special, named))
        if program.argnums:
            function = jax.grad(function, argnums_of(program))
        compiled = jax.jit(function)
        there = [jax.device_put(a, self._device) for a in arrays]
        return lambda: compiled(*there)

    def finish(self, result: Any) -> None:
        for each in as_tuple(result):
            each.block_until_ready()

    def arrays(self, result: Any) -> Arrays:
        return numpy_arrays(result)


class Torch:
    """PyTorch through ``torch.compile``; on the CPU without it, where it only tests the texts."""

    def __init__(self, device: str) -> None:
        import torch

        self._torch, self._device = torch, device
        if device == "cuda":
            torch.cuda.init()  # raises if PyTorch has no GPU

    def about(self) -> str:
        on_gpu = self._device == "cuda"
        where = self._torch.cuda.get_device_name() if on_gpu else "the CPU, eager"
        return f"torch.compile of PyTorch {self._torch.__version__} on {where}"

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self._device == "cpu":
            return function
        compiled: Callable[..., Any] = self._torch.compile(function, fullgraph=True, dynamic=False)
        return compiled

    def bind(self, program: Program, arrays: Sequence[numpy.ndarray]) -> Call:
        torch = self._torch
        named = {
            "sort": torch.msort,
            "maximum": lambda x, least: torch.clamp(x, min=least),
            "added": lambda x, places, values: x.index_add(0, places, values),
        }
        function = self._compiled(program.make(Namespace(torch, torch.special, named)))
        there = [torch.tensor(a, device=self._device) for a in arrays]
        wanted = [there[n].requires_grad_() for n in program.argnums]
        if wanted:
            return lambda: torch.autograd.grad(function(*there), wanted)
        return lambda: function(*there)

    def finish(self, result: Any) -> None:
        if self._device == "cuda":
            self._torch.cuda.synchronize()

    def arrays(self, result: Any) -> Arrays:
        return tuple(part.detach().cpu().numpy() for part in as_tuple(result))


class Cupy:
    """CuPy, which has no derivatives; on the CPU NumPy and SciPy, which have the same names."""

    def __init__(self, device: str) -> None:
        if device == "cpu":
            import scipy.special

            self._np: Any = numpy
            self._special: Any = scipy.special
            self._cuda: Any = None
            return
        cupy = import_module("cupy")
        cupy.cuda.Device().compute_capability  # noqa: B018  (raises if there is no GPU)
        self._np, self._special = cupy, import_module("cupyx.scipy.special")
        self._cuda = cupy.cuda

    def about(self) -> str:
        if self._cuda is None:
            return f"NumPy {numpy.__version__}, in the place of CuPy"
        model = self._cuda.runtime.getDeviceProperties(0)["name"].decode()
        return f"CuPy {self._np.__version__} on {model}"

    def _added(self, x: Any, places: Any, values: Any) -> Any:
        made = x.copy()
        self._np.add.at(made, places, values)
        return made

    def bind(self, program: Program, arrays: Sequence[numpy.ndarray]) -> Call:
        if program.argnums:
            raise NotImplementedError("CuPy has no derivatives")
        named: dict[str, Any] = {
            "sort": self._np.sort,
            "maximum": self._np.maximum,
            "added": self._added,
        }
        function = program.make(Namespace(self._np, self._special, named))
        there = [self._np.asarray(a) for a in arrays]
        return lambda: function(*there)

    def finish(self, result: Any) -> None:
        if self._cuda is not None:
            self._cuda.Device().synchronize()

    def arrays(self, result: Any) -> Arrays:
        if self._cuda is None:
            return numpy_arrays(result)
        return tuple(self._np.asnumpy(part) for part in as_tuple(result))


#: The reference comes first, then autojit, then the others in the order of the table's columns.
LIBRARIES: dict[str, Callable[[str], Library]] = {
    "cpu": Cpu,
    "autojit": Autojit,
    "jax": Jax,
    "cupy": Cupy,
    "torch": Torch,  # last, as its compilations take longest
}
