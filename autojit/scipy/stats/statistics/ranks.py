"""Tests of hypotheses that depend on the ranks of samples alone, computed by SciPy.

The compiled code calls SciPy on the CPU. A small change of a sample changes no rank, so the
derivatives are 0, as those of ``np.sign`` are; where two elements are equal, there is none. Results
have a ``statistic`` and a ``pvalue``; what else SciPy's have is left out.

>>> from autojit import jit
>>> import scipy.stats as st
>>> found = jit(lambda x: st.mannwhitneyu(x, np.array([1.5, 2.5, 4.0])).pvalue)
>>> round(float(found(np.array([1.0, 2.0, 3.0]))), 9)
0.7
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.stats as st

from autojit.callbacks.pure import pure_callback
from autojit.ir.core.shapes import normalize_axes
from autojit.scipy.arguments import known
from autojit.scipy.registry import answers, original
from autojit.transformations.derivatives import stop_gradient

from .descriptive import floats
from .hypotheses import Significance

#: The functions that give a statistic and a p-value, and their samples.
TESTS = {
    "ansari": ("x", "y"),
    "brunnermunzel": ("x", "y"),
    "chatterjeexi": ("x", "y"),
    "cramervonmises_2samp": ("x", "y"),
    "fligner": ("samples",),
    "friedmanchisquare": ("samples",),
    "kendalltau": ("x", "y"),
    "kruskal": ("samples",),
    "ks_2samp": ("data1", "data2"),
    "mannwhitneyu": ("x", "y"),
    "mood": ("x", "y"),
    "page_trend_test": ("data",),
    "ranksums": ("x", "y"),
    "somersd": ("x", "y"),
    "spearmanrho": ("x", "y"),
    "weightedtau": ("x", "y"),
    "wilcoxon": ("x", "y"),
}
#: The functions of these names that this version of SciPy has.
FOUND = [name for name in TESTS if hasattr(st, name)]
#: Those whose result has no axis of the samples.
WHOLE = ("page_trend_test", "somersd")


def _reduced(shapes: list[tuple[int, ...]], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape of a statistic of samples along an axis, or along all axes."""
    if axis is None:
        return (1,) * max(map(len, shapes)) if keepdims else ()
    lines = []
    for shape in shapes:
        (along,) = normalize_axes(axis, len(shape))
        lines.append(shape[:along] + ((1,) if keepdims else ()) + shape[along + 1 :])
    return np.broadcast_shapes(*lines)


def _answer(name: str) -> None:
    full_name = f"scipy.stats.{name}"
    theirs = inspect.signature(original(full_name))
    # `answers` passes arguments by name.
    signature = theirs.replace(parameters=[
        p.replace(kind=p.POSITIONAL_OR_KEYWORD) if p.kind is p.POSITIONAL_ONLY else p
        for p in theirs.parameters.values()
    ])  # fmt: skip

    def found(*args: Any, **kwargs: Any) -> Significance:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        arguments = given.arguments
        several = TESTS[name] == ("samples",)
        named = () if several else tuple(k for k in TESTS[name] if arguments[k] is not None)
        samples = arguments["samples"] if several else [arguments[k] for k in named]
        rows = [stop_gradient(floats(x)) for x in samples]
        settings = {k: known(v, k, full_name) for k, v in arguments.items()
                    if k not in ("samples", *named)}  # fmt: skip
        axis = None if name in WHOLE else settings.get("axis", 0)
        shape = _reduced([x.shape for x in rows], axis, bool(settings.get("keepdims")))

        def test(*rows: Any) -> Any:
            call = theirs.bind_partial()
            call.arguments.update(
                {"samples": rows} if several else zip(named, rows, strict=True), **settings
            )
            made = original(full_name)(*call.args, **call.kwargs)
            return tuple(np.asarray(x, np.float64) for x in (made.statistic, made.pvalue))

        like = np.zeros(shape)
        return Significance(*pure_callback(test, (like, like), *rows, vmap_method="sequential"))

    found.__name__ = found.__qualname__ = name
    found.__doc__ = f"``scipy.stats.{name}``, whose result depends on ranks alone."
    found.__signature__ = signature  # type: ignore[attr-defined]
    answers(full_name)(found)


for _name in FOUND:
    _answer(_name)


@answers("scipy.stats.tiecorrect")
def tiecorrect(rankvals: Any) -> Any:
    """The factor that corrects tests of ranks for ties."""
    ranks = stop_gradient(floats(rankvals))
    return pure_callback(
        lambda x: np.float64(original("scipy.stats.tiecorrect")(x)), np.float64(0), ranks,
        vmap_method="sequential",
    )  # fmt: skip


@answers("scipy.stats.percentileofscore")
def percentileofscore(a: Any, score: Any, kind: str = "rank", nan_policy: str = "propagate") -> Any:
    """The percentage of a sample that is smaller than scores.

    >>> from autojit import jit
    >>> from autojit.scipy import stats
    >>> float(jit(stats.percentileofscore)(np.array([1.0, 2.0, 3.0, 4.0]), 3.0))
    75.0
    """
    sample, scores = (stop_gradient(floats(x)) for x in (a, score))

    def percentage(a: Any, score: Any) -> Any:
        found = original("scipy.stats.percentileofscore")(a, score, kind, nan_policy)
        return np.asarray(found, np.float64)

    return pure_callback(
        percentage, np.zeros(np.shape(scores)), sample, scores, vmap_method="sequential"
    )
