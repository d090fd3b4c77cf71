"""Results of compiled functions that depend on traced values in more than their numbers: lists and
arrays of traced length, None on some ways, strings, dicts with keys that may be missing.

The compiled code returns arrays of fixed shapes: the columns of a list with room for all elements
and their number, an array and a mask, a flag, a code. A node of the result's tree says how to make
the object of these, after each call. Inside another traced function it becomes what it was.

Only ``jit`` itself returns such results. Where a transformation needs the result's shape (the
gradient, a batch), they are refused.
"""

from __future__ import annotations

import collections
from enum import Enum
from typing import Any

import numpy as np
import optree

from autojit.capture.lists.deques import Deque
from autojit.capture.lists.views import View
from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.state.maybe import (
    DICTS,
    Maybe,
    has_optional,
    has_table,
    is_mixed,
    only_present,
)
from autojit.capture.state.one_of import OneOf, refuse_result
from autojit.capture.state.optional import Optional, without_none
from autojit.capture.state.stretch import Stretch, has_stretch, stretch_in
from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_value, tracer
from autojit.staging import pytrees
from autojit.staging.pytrees import NAMESPACE
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import Uncounted
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .kinds import (
    Checked,
    DictOf,
    Empty,
    Known,
    Late,
    ListOf,
    Object,
    OrNone,
    PartOfArray,
    Table,
    Variant,
    has_late,
    put_together,
)
from .variants import Variants

#: Objects that a result may hold beside arrays: they never change, and equal ones are the same.
_STEADY = (str, bytes, Enum)


def returned(tree: Any, may_vary: bool) -> Any:
    """The result of a traced function.

    If its structure and shapes may vary, the parts that do become nodes. Otherwise the compiled
    code raises an error if a part is None, and other such parts are refused.
    """
    pytrees.flatten(tree)  # which registers classes
    leaves, structure = optree.tree_flatten(tree, is_leaf=_varies, namespace=NAMESPACE)
    if may_vary:
        leaves = [_late(x) for x in leaves]
        if not pytrees.flatten(leaves)[0] and _may_raise():
            return Late(Checked(), [pytrees.unflatten(structure, leaves), tracer(as_value(0.0))])
        is_new = any(type(x) is Late for x in leaves)
        return optree.tree_unflatten(structure, leaves) if is_new else tree
    for leaf in leaves:
        refuse_result(leaf)
        if type(leaf) is Variants:
            raise CaptureError(leaf.refusal)
        if _is_list(leaf):
            raise CaptureError(with_place(_UNCOUNTED, user_source()))
    if not any(map(_varies, leaves)):
        return tree
    values = [
        returned(only_present(x) if type(x) in DICTS else without_none(x, _RETURNED), False)
        for x in leaves
    ]
    return optree.tree_unflatten(structure, values)


def _may_raise() -> bool:
    trace = current_trace()
    return trace is not None and bool(trace.checks)


def _varies(x: Any) -> bool:
    kinds = (hooks.part, Late, Optional, OneOf, Variants)
    return type(x) in kinds or has_optional(x) or _is_list(x)


def _is_list(x: Any) -> bool:
    return has_stretch(x) or isinstance(x, Uncounted)


def _late(x: Any) -> Any:
    """A part of a result, as a node if it varies."""
    if has_stretch(x):
        return _late_list(x)
    if isinstance(x, Tracer) and x.is_bounded:
        return _late_part(x)
    if isinstance(x, hooks.part):
        return Late(PartOfArray(((x.axis, False),)), [x.elements, x.holds])
    if type(x) is Optional:
        return Late(OrNone(), [returned(x.__aj_value__, True), x.__aj_held__])
    if type(x) is OneOf:
        return _late_object(x)
    if type(x) is Variants:
        return Late(Variant(), [*x.forms, x.code])
    if has_optional(x):
        return _late_dict(x)
    return Late(Known(x), []) if isinstance(x, _STEADY) else x


def _late_list(x: list[Any]) -> Late:
    deque = (x.maxlen,) if isinstance(x, Deque) else None
    found = stretch_in(x)
    elements = found.elements._replace(is_ring=False)
    return Late(ListOf(elements, found.is_limited, deque), [*found.columns, found.count])


def _late_part(x: Any) -> Late:
    axes, masks = [], []
    for axis, found in enumerate(x.ranges):
        if found is None:
            continue
        extent = x.storage.shape[axis]
        mask = found.mask(extent)
        axes.append((axis, found.step < 0))
        masks.append(tracer(as_value(np.ones(extent, bool)) if mask is None else mask))
    return Late(PartOfArray(tuple(axes)), [x.storage, *masks])


def _late_object(x: Any) -> Late:
    if not all(isinstance(each, _STEADY) for _, each in x.__aj_among__):
        refuse_result(x)
    codes, objects = zip(*x.__aj_among__, strict=True)
    return Late(Object(codes, objects), [x.__aj_code__])


def _late_dict(x: Any) -> Late:
    if type(x) not in DICTS:
        return without_none(x, _RETURNED)  # a view
    arguments = (x.default_factory,) if isinstance(x, collections.defaultdict) else ()
    empty: Any = Empty(type(x), arguments)
    if has_table(x):
        found: Stretch = View(x, "items").now()[0]
        return Late(Table(empty, found.elements), [*found.columns, found.count])
    if is_mixed(x):
        only_present(x)  # which raises
    items = [(key, value) for key, value in x.items() if value is not UNBOUND]
    optional = [k for k, (_, value) in enumerate(items) if type(value) is Maybe]
    values = [value.value if type(value) is Maybe else value for _, value in items]
    flags = [items[k][1].held for k in optional]
    kind = DictOf(empty, tuple(key for key, _ in items), tuple(optional))
    return Late(kind, [*returned(values, True), *flags])


_UNCOUNTED = (
    "The function returns a list whose length depends on a traced value. Under `jit` alone it may, "
    "but derivatives and batches need one shape. Return what you make of the list, or an array of "
    "a fixed length and a count:\n"
    "    return sum(found), len(found)      # not: return found\n"
    "or call the function without jit, where Python goes its own way:\n"
    "    grad(f)(x)                         # not: jit(grad(f))(x)"
)


_RETURNED = (
    "the function returns None for these arguments, and a number or an array for others. "
    "Compiled code always returns the same kind of result"
)
hooks.returned, hooks.put_together, hooks.varies = returned, put_together, has_late
