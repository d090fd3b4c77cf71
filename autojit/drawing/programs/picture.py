"""``picture``: a program, a derivative or fused loops as SVG, HTML, DOT or JSON."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

from autojit.codegen.loop_ir.program import LoopProgram
from autojit.errors import SettingError, StructureError
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type
from autojit.ir.passes.pipeline import optimize
from autojit.ir.transforms.gradient import gradient
from autojit.notebook.html.blocks import pane
from autojit.session.tracebacks import folded
from autojit.spelling import closest
from autojit.staging import pytrees
from autojit.staging.execute import target_errors
from autojit.staging.inspection import Lowered, trace

from .as_json import as_json
from .dot import dot
from .grouping import BY
from .levels import Levels, opened_at_first
from .model import Drawing
from .page import page_of
from .placed import Placement
from .svg import svg
from .whole import check_scalar, draw, draw_adjoint, is_small

FORMATS = ("svg", "html", "dot", "json")
STAGES = ("trace", "optimized", "loops")
#: The most boxes that are visible at first.
SEEN = 60


class Picture(str):
    """The text of a picture, which a notebook shows as one."""

    #: ``svg``, ``html``, ``dot`` or ``json``.
    kind: str

    def __new__(cls, text: str, kind: str) -> Picture:
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._repr_mimebundle_()["text/plain"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if self.kind == "svg":
            words = f"<picture, {len(self)} letters of SVG>"
            return {"text/html": pane(self), "text/plain": words}
        if self.kind == "html":
            frame = (
                f'<iframe srcdoc="{escape(self)}" width="100%" height="640" '
                'style="border:1px solid #8888"></iframe>'
            )
            return {"text/html": frame, "text/plain": f"<picture, {len(self)} letters of HTML>"}
        return {"text/plain": str(self)}


class _Subject(NamedTuple):
    """The subject of a picture: a program, the names of its inputs, and their values if known."""

    program: Program
    names: Sequence[str]
    arguments: Sequence[Any]


@folded
def picture(
    x: Program | LoopProgram | Lowered | Callable[..., Any],
    *args: Any,
    format: str = "svg",
    stage: str | None = None,
    adjoint: bool = False,
    argnums: int | Sequence[int] = 0,
    by: str = "line",
    values: bool = True,
    opened: int = SEEN,
) -> Picture:
    """A picture of a program: operations as boxes, values as edges with their shapes and bytes.

    Operations are grouped in boxes, which open at a click in HTML. The text needs no network and no
    other program.

    Args:
        x: a Program, the result of ``jit(f).lower(...)``, or a function: plain, transformed or
            compiled.
        args: the arguments of the function. If they are arrays and numbers, the picture shows the
            value of each operation, and with ``adjoint`` the gradient of the result with respect to
            it. They may be omitted for a Program.
        format: ``"svg"``, ``"html"`` (with boxes that open and close, pan and zoom), ``"dot"``
            (text for Graphviz) or ``"json"`` (as ``autojit.drawing.programs.as_json`` describes).
        stage: ``"trace"`` (the default for a Program), ``"optimized"`` (the default for all else)
            or ``"loops"``: the fused loops as boxes, with their operations, and library calls.
            ``"all"``, with ``format="html"``, is a page that follows each of the user's lines from
            the trace to the instructions; with ``adjoint``, to the instructions of the gradient.
        adjoint: draw the gradient: the forward pass, the reverse pass beside it, from bottom to
            top, and the values that it keeps as dashed edges between them.
        argnums: with ``adjoint``, the positional arguments to differentiate with respect to; for a
            Program, the numbers of its inputs.
        by: groups of operations: ``"line"`` (the user's lines, in the steps of unrolled Python
            loops), ``"loop"`` (these steps alone), ``"call"`` (functions, and in them as by line),
            ``"none"``.
        values: whether known values are shown.
        opened: groups are open at first as long as at most this many boxes are visible.

    Returns:
        The text, which a notebook shows as a picture.

    Raises:
        SettingError: for another format, stage or grouping.
        StructureError: for a function without arguments.
        NonScalarGradientError: with ``adjoint``, if the result is no scalar.

    >>> from autojit.drawing import picture
    >>> text = picture(lambda x: np.sum(np.sin(x) * x), np.ones(3))
    >>> text[:4], "sin" in text, "f64[3] 24 B" in text
    ('<svg', True, True)
    """
    _check(format, FORMATS, "format")
    _check(by, BY, "by")
    if stage == "all":
        return Picture(_all_stages(x, args, format, adjoint, argnums), format)
    drawing = _drawing(x, args, stage, adjoint, argnums, by, values)
    if format == "dot":
        return Picture(dot(drawing), format)
    if format == "json":
        return Picture(as_json(drawing), format)
    levels = Levels(drawing)
    is_page = format == "html"
    placement = Placement(levels, opened_at_first(levels, opened), closed=is_page)
    return Picture(page_of(placement) if is_page else svg(placement), format)


def _all_stages(x: Any, args: Sequence[Any], format: str, adjoint: bool, argnums: Any) -> str:
    from autojit.drawing.stages.page import page_of

    if format != "html" or isinstance(x, LoopProgram):
        raise SettingError(
            "picture: all stages of a function or a program are a page:\n"
            '    picture(f, x, stage="all", format="html")'
        )
    program, derived = _subject(x, args).program, None
    if adjoint:
        check_scalar(program)
        derived = gradient(program, _inputs(x, args, argnums, program), keep_outputs=False)
    with target_errors():
        return page_of(program, derived)


def _check(given: str, known: Sequence[str], name: str) -> None:
    if given not in known:
        words = ", ".join(map(repr, known))
        raise SettingError(
            f"picture: {name} is one of {words}; got {given!r}.{closest(given, known)}"
        )


def _drawing(
    x: Any, args: Sequence[Any], stage: str | None, adjoint: bool, argnums: Any, by: str,
    values: bool,
) -> Drawing:  # fmt: skip
    if stage is not None:
        _check(stage, (*STAGES, "all"), "stage")
    if isinstance(x, LoopProgram):
        from .loops import draw_loops

        return draw_loops(x)
    stage = stage or ("trace" if isinstance(x, Program) else "optimized")
    subject = _subject(x, args)
    if not values or not is_small(subject.program):
        subject = subject._replace(arguments=())
    if stage == "loops":
        if adjoint:
            raise StructureError(
                "picture: adjoint=True draws programs, not loops. For the loops of a gradient:\n"
                '    picture(grad(f), x, stage="loops")'
            )
        from .loops import draw_loops, lowered

        with target_errors():
            return draw_loops(lowered(subject.program))
    if adjoint:
        wrt = _inputs(x, args, argnums, subject.program)
        return draw_adjoint(
            subject.program, wrt, by, subject.names, subject.arguments,
            optimized=stage == "optimized",
        )  # fmt: skip
    program = subject.program if stage == "trace" else optimize(subject.program)
    return draw(program, by, subject.names, subject.arguments)


# -- subjects ----------------------------------------------------------------------------


def _subject(x: Any, args: Sequence[Any]) -> _Subject:
    if isinstance(x, (Program, Lowered)):
        program = x if isinstance(x, Program) else x.program
        return _Subject(program, (), _arrays(program, args))
    if not callable(x):
        raise StructureError(
            f"picture takes a Program, what jit(f).lower(...) returns, or a function; got a "
            f"{type(x).__name__}. For a graph that was recorded:\n    autojit.make_dot(x)"
        )
    needed = _parameters(x)
    if not args and needed:
        name = getattr(x, "__name__", "f")
        raise StructureError(
            "picture of a function needs its arguments:\n"
            f"    picture({name if name.isidentifier() else 'f'}, {', '.join(needed)})"
        )
    program = x.program(*args) if hasattr(x, "cache_info") else trace(x)(*args)
    leaves = pytrees.flatten((args, {}))[0]
    if len(leaves) + len(program.captured) != len(program.inputs):
        return _Subject(program, (), ())  # some arguments are static
    return _Subject(program, _names(x, args), _arrays(program, leaves))


def _parameters(f: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters without a default."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return ["x"]
    return [p.name for p in found if p.default is p.empty and p.kind < p.VAR_POSITIONAL]


def _names(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The names of the arguments' leaves, as expressions in the function's parameters."""
    parameters = _parameters(f)
    names = [
        parameters[i] if i < len(parameters) else f"argument {i}" for i in range(len(args))
    ]  # fmt: skip
    pairs = zip(names, args, strict=True)
    return [path for name, tree in pairs for path in pytrees.paths(tree, name)]


def _arrays(program: Program, args: Sequence[Any]) -> list[Any]:
    """The arguments of a program; empty if they are types."""
    if not args or any(isinstance(a, Type) for a in args):
        return []
    everything = [*args, *program.captured]
    if len(everything) != len(program.inputs):
        raise StructureError(
            f"picture: program {program.name} takes {len(program.inputs)} inputs, got {len(args)}"
        )
    return [in_dtype(a, t.dtype) for a, t in zip(everything, program.in_types, strict=True)]


def _inputs(x: Any, args: Sequence[Any], argnums: Any, program: Program) -> list[int]:
    """The inputs to differentiate with respect to: those of the leaves of ``argnums``."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    if isinstance(x, (Program, Lowered)):
        ranges = [[i] for i in range(len(program.inputs))]
    else:
        ranges, start = [], 0
        for tree in args:
            stop = start + len(pytrees.flatten(tree)[0])
            ranges.append(list(range(start, stop)))
            start = stop
    for number in numbers:
        if not -len(ranges) <= number < len(ranges):
            raise SettingError(f"picture: argnums={number}, but there are {len(ranges)} arguments")
    return [i for number in numbers for i in ranges[number]]
