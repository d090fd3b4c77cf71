"""The table of workloads: one file per topic, each with a tuple `WORKLOADS`."""

from __future__ import annotations

from importlib import import_module

from bench.workload import Workload

FILES = (
    "rosenbrock",
    "black_scholes",
    "logistic",
    "hierarchical",
    "lennard_jones",
    "mlp",
    "second_order",
    "per_example",
    "lotka_volterra",
    "heat",
    "phase_retrieval",
    "kalman",
    "recurrent",
    "newton",
    "many_leaves",
    "quasiseparable",
    "gmm",
    "char_lstm",
    "bundle_adjustment",
    "hand",
    "llsq",
    "lse",
    "ode",
    "kmeans",
    "det",
    "micrograd",
    "normalised",
    "attention",
    "transformer",
    "gaussian_process",
    "convolution",
    "moves",
    "rows_in_order",
    "npbench_linear",
    "npbench_stencils",
    "npbench_vertical",
    "npbench_apps",
    "npbench_triangles",
    "npbench_loops",
    "element_loops",
)


def all_workloads() -> dict[str, Workload]:
    """Every workload by name, in the order of the table."""
    modules = (import_module(f"bench.workloads.{file}") for file in FILES)
    return {workload.name: workload for module in modules for workload in module.WORKLOADS}


def select(names: list[str]) -> list[Workload]:
    """The named workloads; a file's name selects all of its workloads, an empty list all."""
    table = all_workloads()
    if not names:
        return list(table.values())
    chosen: list[Workload] = []
    for name in names:
        if name in table:
            chosen.append(table[name])
        elif name in FILES:
            chosen.extend(import_module(f"bench.workloads.{name}").WORKLOADS)
        else:
            raise SystemExit(f"no workload {name!r}; there are: {', '.join(table)}")
    return chosen
