"""``autojit dump``: the text of a function at each stage of its compilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autojit import jit
from autojit.staging.inspection import STAGES, Lowered

from .failures import FAULT, Failure, closest, running
from .terminal import replace_file, show

FORMATS = ("text", "json")
_JSON_STAGES = ("trace", "optimized")
_GPU_STAGES = ("cuda", "ptx")


def dump(
    f: Callable[..., Any],
    args: Sequence[Any],
    stage: str,
    format: str,
    output: Path | None,
) -> None:
    """Print a stage (or ``all``), or write it to a file."""
    with running(getattr(f, "__name__", "the function")):
        lowered = jit(f).lower(*args)
    if format == "json":
        from .as_json import as_json

        text = as_json(lowered, stage)
    elif stage == "all":
        text = _every_stage(lowered)
    else:
        text = _text(lowered, stage)
    if output is None:
        show(text)
    else:
        replace_file(output, text)


def check_choice(stage: str, format: str) -> None:
    """Raise unless there are such a stage and format, and they go together."""
    if stage not in (*STAGES, "all"):
        raise Failure(
            f"--stage: there is no stage {stage!r}.{closest(stage, STAGES)} "
            f"There are: {', '.join(STAGES)}, all"
        )
    if format not in FORMATS:
        raise Failure(f"--format: there are {' and '.join(FORMATS)}; got {format!r}")
    if format == "json" and stage not in _JSON_STAGES:
        raise Failure(
            f"--format json holds programs, so --stage is one of {', '.join(_JSON_STAGES)}; "
            f"got {stage!r}. Use --format text"
        )


def _text(lowered: Lowered, stage: str) -> str:
    with running(f"the stage {stage}"):
        try:
            return lowered.text(stage)
        except ModuleNotFoundError as error:
            if stage not in _GPU_STAGES:
                raise
            words = f'--stage {stage} needs {error.name}: pip install "autojit[cuda]"'
            raise Failure(words, FAULT) from None


def _every_stage(lowered: Lowered) -> str:
    """All stages, each under a heading; one for the GPU that this machine lacks says why."""
    parts = []
    for stage in STAGES:
        try:
            body = _text(lowered, stage)
        except Failure as failure:
            if stage not in _GPU_STAGES:
                raise
            body = f"not available: {failure}"
        parts.append(f"==== {stage} ====\n\n{body.rstrip()}\n")
    return "\n".join(parts)
