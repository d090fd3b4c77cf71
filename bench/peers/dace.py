"""DaCe with its own automatic differentiation; a C++ compiler builds the result.

The differentiation expands matrix products into loops, so BLAS is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.peer import Compiled, Latency, Peer, numpy_arrays
from bench.workload import Arrays, Function, NotWritten, Workload


def environment(threads: int, dtype: str) -> dict[str, str]:
    """Set fresh build folders, so that a second run compiles again, and the OpenMP threads."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "DACE_default_build_folder": "{cache}/dace",
        "DACE_BUILD_CACHE_DIR": "{cache}",
    }


def load() -> Any:
    import dace
    import dace.autodiff
    import dace.transformation.auto.auto_optimize

    return dace


def optimise(dace: Any, graph: Any) -> None:
    """Run DaCe's automatic optimisation for the CPU."""
    dace.transformation.auto.auto_optimize.auto_optimize(graph, dace.DeviceType.CPU)


def zero_at_each_call(dace: Any, graph: Any) -> None:
    """Limit arrays that start as zeros to one call: the optimisation lets arrays outlive calls."""
    for part in graph.all_sdfgs_recursive():
        zeros = {
            node.data for state in part.states() for node in state.data_nodes() if node.setzero
        }
        for name in zeros:
            if part.arrays[name].lifetime == dace.AllocationLifetime.Persistent:
                part.arrays[name].lifetime = dace.AllocationLifetime.SDFG


class Program:
    """The data-flow graph of a function for some inputs, and the names of its arguments.

    `written` has the arguments that the function assigns to.
    """

    def __init__(self, dace: Any, name: str, function: Function, inputs: Arrays) -> None:
        program = dace.program(function)
        self.dace = dace
        self.graph = program.to_sdfg(*inputs)
        self.graph.name = name  # two programs with one name would share their build folder
        self.names: list[str] = program.argnames
        _, written = self.graph.read_and_write_sets()
        self.written = [name for name in self.names if name in written]

    def bound(self, inputs: Arrays) -> Callable[..., Any]:
        """Compile the program; return a function of further arguments by name.

        A kernel that works in place gets a fresh copy at each call, so that the inputs stay
        unchanged.
        """
        zero_at_each_call(self.dace, self.graph)
        compiled = self.graph.compile()
        arguments = dict(zip(self.names, inputs, strict=True))

        def call(**further: np.ndarray) -> Any:
            fresh = {name: arguments[name].copy() for name in self.written}
            return compiled(**{**arguments, **fresh, **further})

        return call


def differentiated(
    program: Program, inputs: Arrays, argnums: tuple[int, ...], stages: tuple[str, ...]
) -> Callable[[], Arrays]:
    """Compile the gradient of the returned scalar; DaCe adds it to arrays that are passed."""
    dace = program.dace
    wanted = {program.names[at]: inputs[at] for at in argnums}
    if "forward" in stages:
        optimise(dace, program.graph)
    dace.autodiff.add_backward_pass(program.graph, outputs=["__return"], inputs=list(wanted))
    if "whole" in stages:
        optimise(dace, program.graph)
    call = program.bound(inputs)
    one = np.ones(1, dtype=inputs[argnums[0]].dtype)

    def gradient() -> Arrays:
        gradients = {f"gradient_{name}": np.zeros_like(at) for name, at in wanted.items()}
        call(gradient___return=one, **gradients)
        return tuple(gradients.values())

    return gradient


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    dace = load()
    function, stages = workload.version("dace", dace)
    if workload.derivative != "gradient":
        raise NotWritten(f"no {workload.derivative} from this library")
    inputs = tuple(array.copy() for array in inputs)  # DaCe takes no views
    program = Program(dace, f"{workload.name}_gradient", function, inputs)
    gradient = differentiated(program, inputs, workload.argnums, stages)
    # The primal is compiled at its first call, outside of the gradient's compile time.
    compiled_primal: list[Callable[..., Any]] = []

    def primal() -> Any:
        if not compiled_primal:
            alone = Program(dace, f"{workload.name}_primal", function, inputs)
            if stages:
                optimise(dace, alone.graph)
            compiled_primal.append(alone.bound(inputs))
        return compiled_primal[0]()

    return Compiled(gradient, primal, numpy_arrays)


def first_gradient(make: Callable[[Any, Any], Any], x: np.ndarray) -> Any:
    inputs = (x.copy(),)
    program = Program(load(), "first_gradient", make(np, None), inputs)
    return differentiated(program, inputs, (0,), ())()


PEER = Peer(
    name="dace",
    title="DaCe",
    package="dace",
    environment=environment,
    load=load,
    build=build,
    latency=Latency(first_gradient),
)
