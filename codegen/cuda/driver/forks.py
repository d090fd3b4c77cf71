"""CUDA's driver does not work in a forked process whose parent has started the driver.

Every call there returns CUDA_ERROR_NOT_INITIALIZED, whose message does not give the reason.
"""

from __future__ import annotations

import os

from autojit.codegen.loop_ir.errors import TargetError


class _Process:
    """Whether the driver was started, and whether that was before a fork."""

    has_started = False
    is_fork = False


def started() -> None:
    """Note that the driver was started in this process."""
    _Process.has_started = True


def refuse() -> None:
    """Raise TargetError if the driver was started before this process was forked."""
    if _Process.is_fork:
        raise TargetError(
            "the GPU was used before this process was forked, and CUDA's driver does not work in a "
            "fork. Start processes afresh:\n"
            '    multiprocessing.set_start_method("spawn")'
        )


def _forked() -> None:
    _Process.is_fork = _Process.has_started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
