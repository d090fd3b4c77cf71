"""``autojit dump``: the text of a function at each stage of its compilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autojit import jit
from autojit.cli.common.failures import FAULT, Failure, running
from autojit.cli.common.terminal import CODE, LISTING, give
from autojit.spelling import closest
from autojit.staging.inspection import STAGES, Lowered

from .pictures import PICTURES, Look

FORMATS = ("text", "json")
KNOWN = (*FORMATS, *PICTURES)
_JSON_STAGES = ("trace", "optimized")
_GPU_STAGES = ("cuda", "ptx")


@dataclass(frozen=True)
class Choice:
    """The choice of what to print: a stage (or ``all``), or the work of passes; and the format."""

    stage: str | None
    passes: bool
    print_after: str | None
    remarks: bool
    format: str
    #: The look of a picture; if it differs from the default, a picture is wanted.
    look: Look

    @property
    def is_picture(self) -> bool:
        """Whether a picture is wanted rather than a text."""
        is_new = self.format == "json" and self.stage == "loops"
        return self.format in PICTURES or self.look.adjoint or is_new

    @property
    def is_page(self) -> bool:
        """Whether the page of all stages is wanted."""
        return self.stage == "all" and self.format == "html"

    def check(self) -> None:
        """Raise unless the choice exists in the format."""
        others = {
            "--stage": self.stage is not None,
            "--passes": self.passes,
            "--print-after": self.print_after is not None,
            "--remarks": self.remarks,
        }
        given = [name for name, is_given in others.items() if is_given]
        if len(given) > 1:
            raise Failure(f"give {given[0]} or {given[1]}, not both")
        if given in ([], ["--stage"]):
            _check_stage(self.stage or "optimized")
            if self.is_page:
                self.look.check_page()
            elif self.is_picture:
                self.look.check(self.stage or "optimized", self.format)
            else:
                self.look.check_unused()
                _check_program(self.stage or "optimized", self.format)
            return
        _check_format(self.format)
        if self.print_after is not None:
            from .passes import find

            find(self.print_after)
            if self.format == "json":
                raise Failure("--print-after supports only --format text")


def dump(f: Callable[..., Any], args: Sequence[Any], what: Choice, output: Path | None) -> None:
    """Print the chosen output, or write it to a file."""
    if what.passes or what.print_after is not None or what.remarks:
        styles = LISTING if what.passes else CODE
        give(_of_passes(f, args, what), output, is_code=what.format != "json", styles=styles)
        return
    stage = what.stage or "optimized"
    if what.is_picture:
        give(what.look.drawn(f, args, stage, what.format), output)
        return
    with running(getattr(f, "__name__", "the function")):
        lowered = jit(f).lower(*args)
    if what.format == "json":
        from .as_json import as_json

        text = as_json(lowered, stage)
    elif stage == "all":
        text = _every_stage(lowered)
    else:
        text = _text(lowered, stage)
    give(text, output, is_code=what.format != "json")


def page(
    f: Callable[..., Any], derived: Callable[..., Any] | None, args: Sequence[Any], *, is_grad: bool
) -> str:
    """The page of all stages of a function, and of the transformed function if there is one."""
    from autojit.drawing.stages.page import page_of
    from autojit.staging.execute import target_errors

    with running(getattr(f, "__name__", "the function")), target_errors():
        program = jit(f).lower(*args).program
        after = None if derived is None else jit(derived).lower(*args).program
        return page_of(program, after, "adjoint" if is_grad else "transformed")


def _of_passes(f: Callable[..., Any], args: Sequence[Any], what: Choice) -> str:
    from . import passes, remarks

    if what.remarks:
        found = remarks.collected(f, args)
        return remarks.as_json(found) if what.format == "json" else remarks.text(found)
    if what.print_after is not None:
        return passes.printed_after(f, args, what.print_after)
    record = passes.recorded(f, args)
    return passes.as_json(record) if what.format == "json" else passes.table(record)


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise Failure(f"--format must be {' or '.join(FORMATS)}; got {format!r}")


def _check_stage(stage: str) -> None:
    """Raise unless the stage exists."""
    if stage not in (*STAGES, "all"):
        raise Failure(
            f"--stage: there is no stage {stage!r}.{closest(stage, STAGES)} "
            f"Stages: {', '.join(STAGES)}, all"
        )


def _check_program(stage: str, format: str) -> None:
    """Raise unless the program of a stage has the format."""
    if format not in FORMATS:
        raise Failure(
            f"--format must be one of {', '.join(KNOWN)}; got {format!r}.{closest(format, KNOWN)}"
        )
    if format == "json" and stage not in _JSON_STAGES:
        raise Failure(
            f"--format json supports only the stages {', '.join(_JSON_STAGES)}, loops; got "
            f"{stage!r}. Use --format text"
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
    """All stages, each below a heading; unavailable stages for a GPU give the reason."""
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
