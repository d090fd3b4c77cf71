"""One call of machine code runs a table of launches, so that each takes only the driver's time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from .prototypes import KernelNode


class Work(ctypes.Structure):
    """The argument of a call: launches in a table, which run in turn, or one graph to launch.

    ``launch``, ``launch_together``, ``launch_graph``, ``push`` and ``pop`` are the addresses of the
    driver's functions.  The blocks of a node whose ``extra`` is not null are launched together: the
    driver runs them at the same time, or refuses.
    """

    _fields_ = (
        ("launch", ctypes.c_void_p),
        ("launch_together", ctypes.c_void_p),
        ("launch_graph", ctypes.c_void_p),
        ("push", ctypes.c_void_p),
        ("pop", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("graph", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("nodes", ctypes.c_void_p),
    )


_NODE = "{ ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, ptr }"
_WORK = "{ ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, ptr }"


def _loads(kind: str, base: str, fields: dict[str, tuple[int, str]]) -> str:
    lines = []
    for name, (number, type) in fields.items():
        lines.append(f"  %at.{name} = getelementptr {kind}, ptr {base}, i32 0, i32 {number}")
        lines.append(f"  %{name} = load {type}, ptr %at.{name}")
    return "\n".join(lines)


_FIELDS = ("launch", "launch_together", "launch_graph", "push", "pop", "context", "stream", "graph")
_OF_WORK = {name: (i, "ptr") for i, name in enumerate(_FIELDS)}
_OF_NODE = {
    "function": (0, "ptr"), "gx": (1, "i32"), "gy": (2, "i32"), "gz": (3, "i32"),
    "bx": (4, "i32"), "by": (5, "i32"), "bz": (6, "i32"), "shared": (7, "i32"),
    "parameters": (8, "ptr"), "extra": (9, "ptr"),
}  # fmt: skip

_TEXT = f"""
define i32 @autojit_launch(ptr %work) {{
entry:
  %popped = alloca ptr
{_loads(_WORK, "%work", {**_OF_WORK, "count": (8, "i64"), "nodes": (9, "ptr")})}
  %pushed = call i32 %push(ptr %context)
  %is_pushed = icmp eq i32 %pushed, 0
  br i1 %is_pushed, label %choose, label %refused
refused:
  ret i32 %pushed
choose:
  %has_graph = icmp ne ptr %graph, null
  br i1 %has_graph, label %whole, label %check
whole:
  %of_graph = call i32 %launch_graph(ptr %graph, ptr %stream)
  br label %end
check:
  %i = phi i64 [ 0, %choose ], [ %next, %launched ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %step, label %end
step:
  %node = getelementptr {_NODE}, ptr %nodes, i64 %i
{_loads(_NODE, "%node", _OF_NODE)}
  %is_apart = icmp eq ptr %extra, null
  br i1 %is_apart, label %apart, label %together
apart:
  %code_apart = call i32 %launch(ptr %function, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by,
    i32 %bz, i32 %shared, ptr %stream, ptr %parameters, ptr null)
  br label %launched
together:
  %code_together = call i32 %launch_together(ptr %function, i32 %gx, i32 %gy, i32 %gz, i32 %bx,
    i32 %by, i32 %bz, i32 %shared, ptr %stream, ptr %parameters)
  br label %launched
launched:
  %of_kernel = phi i32 [ %code_apart, %apart ], [ %code_together, %together ]
  %next = add i64 %i, 1
  %is_fine = icmp eq i32 %of_kernel, 0
  br i1 %is_fine, label %check, label %end
end:
  %code = phi i32 [ %of_graph, %whole ], [ 0, %check ], [ %of_kernel, %launched ]
  %ignored = call i32 %pop(ptr %popped)
  ret i32 %code
}}
"""


@cache
def launch() -> Callable[[int], int]:
    """The compiled function: it runs the :class:`Work` at an address, and returns the first
    CUresult that is not success, or 0."""
    from autojit.codegen.cpu.host.engine import Compiled

    assert ctypes.sizeof(KernelNode) == 72  # as _NODE lays it out
    compiled = Compiled([_TEXT])
    made: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(compiled.address("autojit_launch"))
    made.owner = compiled  # keeps the code
    call: Callable[[int], int] = made
    return call
