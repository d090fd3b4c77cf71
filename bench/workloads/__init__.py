"""The table of workloads: one file per question, each with a tuple `WORKLOADS`."""

from __future__ import annotations

from importlib import import_module

from bench.workload import Workload

FILES = (
    "rosenbrock",
    "black_scholes",
    "logistic",
    "lennard_jones",
    "mlp",
    "second_order",
    "per_example",
    "lotka_volterra",
    "heat",
    "kalman",
    "recurrent",
    "newton",
    "many_leaves",
    "quasiseparable",
    "npbench_linear",
    "npbench_stencils",
    "npbench_vertical",
    "npbench_apps",
    "npbench_triangles",
    "npbench_loops",
