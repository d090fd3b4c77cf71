"""``autojit dump --format svg|html|dot``: pictures of programs, derivatives and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autojit.cli.common.failures import Failure, running
from autojit.cli.common.targets import parse_argnums
from autojit.spelling import closest

#: The picture formats; JSON can be one too.
PICTURES = ("svg", "html", "dot")


@dataclass(frozen=True)
class Look:
    """How a picture looks."""

    adjoint: bool
    #: None if it was not given: by line.
    by: str | None
    values: bool
    argnums: str

    def check(self, stage: str, format: str) -> None:
        """Raise unless the picture exists."""
        from autojit.drawing.programs.grouping import BY
        from autojit.drawing.programs.picture import STAGES

        if stage == "all":
            raise Failure(
                f"--format {format} draws a single stage. For a page of all stages: --format html"
            )
        if stage not in STAGES:
            raise Failure(
                f"--format {format} draws the stages {', '.join(STAGES)}; got {stage!r}. "
                "Use --format text"
            )
        if self.by is not None and self.by not in BY:
            raise Failure(
                f"--by: there are {', '.join(BY)}; got {self.by!r}.{closest(self.by, BY)}"
            )
        if self.adjoint and format == "text":
            raise Failure(
                "--adjoint is a picture: give --format html (or svg, dot, json) and -o FILE. For "
                "the text of the gradient: --grad"
            )
        if self.adjoint and stage == "loops":
            raise Failure("--adjoint draws programs. For the loops of a gradient: --grad")

    def check_page(self) -> None:
        """Raise for options that the page of all stages does not have."""
        if self.adjoint:
            raise Failure("--adjoint is a picture. The page of all stages has it with --grad")
        if self.values or self.by is not None:
            name = "--values" if self.values else "--by"
            raise Failure(f"{name} is for pictures, which draw one stage: leave out --stage all")

    def check_unused(self) -> None:
        """Raise for options of pictures if no picture is drawn."""
        if self.values or self.by is not None:
            name = "--values" if self.values else "--by"
            raise Failure(f"{name} is for pictures: give --format svg, html or dot")

    def drawn(self, f: Callable[..., Any], args: Sequence[Any], stage: str, format: str) -> str:
        """The text of the picture."""
        from autojit.drawing import picture

        with running(getattr(f, "__name__", "the function")):
            return picture(
                f, *args, format=format, stage=stage, adjoint=self.adjoint,
                argnums=parse_argnums(self.argnums, f), by=self.by or "line", values=self.values,
            )  # fmt: skip
