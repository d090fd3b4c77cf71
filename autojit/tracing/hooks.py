"""Hooks that layers above tracing register, so that tracing can call them.

A traced array implements NumPy's protocols with functions that are themselves built on traced
arrays.  The modules of these functions set their hook when they are imported; :mod:`autojit.places`
names the modules, which are imported before the first trace (:meth:`Hooks.load`), so that ``import
autojit`` stays quick.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from autojit import places
from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.locks import Lock
from autojit.spelling import MissingName


class Hooks:
    """The registered functions, by purpose."""

    #: NumPy's protocols: ``(ufunc, method, inputs, kwargs)``, and ``(function, args, kwargs)``.
    call_ufunc: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
    call_function: Callable[[Any, Any, Any], Any]
    #: Python's operators: ``(ufunc, left, right)``, and ``(ufunc, x)``.
    call_operator: Callable[[Any, Any, Any], Any]
    call_unary_operator: Callable[[Any, Any], Any]
    #: Array methods without a corresponding NumPy function.
    getitem: Callable[[Any, Any], Any]
    setitem: Callable[[Any, Any, Any], None]
    astype: Callable[..., Any]
    copy: Callable[..., Any]
    fill: Callable[[Any, Any], None]
    sort: Callable[..., None]
    view: Callable[..., Any]
    #: An attribute of a traced number that arrays do not have, by its name, or None.
    attribute_of_number: Callable[[Any, str], Any]
    #: Converts anything to a traced array.
    as_tracer: Callable[[Any], Any]
    #: Converts nested lists of numbers, some of them traced, to a traced array.
    stack_nested: Callable[..., Any]
    #: Makes a created array traced from now on, and reads its item at a traced index.
    traced: Callable[[Any], Any]
    item_at_traced: Callable[[Any, Any], Any]
    #: Called if an argument is a bounded array: ``(function, args, kwargs)``, ``(ufunc, method,
    #: inputs, kwargs)``, and an operator ``(ufunc, *operands)``.
    bounded_function: Callable[[Any, Any, Any], Any]
    bounded_ufunc: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
    bounded_operator: Callable[..., Any]
    #: Read and assign items and slices with traced bounds, and of bounded arrays.
    get_bounded: Callable[[Any, Any], Any]
    set_bounded: Callable[[Any, Any, Any], None]
    write_bounded: Callable[[Any, Any], None]
    #: Items through unknown masks, the indices where a mask holds, such indices as a mask again,
    #: items at bounded arrays of indices, and the part of a bounded array where a mask holds.
    get_masked: Callable[[Any, Any], Any]
    set_masked: Callable[[Any, Any, Any], None]
    places_of: Callable[[Any], tuple[Any, ...]]
    mask_in: Callable[[Any, Any], Any]
    get_at: Callable[[Any, Any], Any]
    set_at: Callable[[Any, Any, Any], None]
    filtered: Callable[[Any, Any], Any]
    #: The class of a bounded array that a block hands on.
    part: Any
    #: Bounded arrays that blocks hand on: as a state; the values of a name on several ways; for
    #: each name, the first one with the same mask; and an array with the places of another.
    as_state: Callable[[Any], Any]
    alike_states: Callable[[list[Any]], list[Any]]
    leaders: Callable[[Any], dict[Any, Any]]
    sharing: Callable[[Any, Any], Any]
    #: A context in which NumPy's names see traced values.
    visible: Callable[[], AbstractContextManager[None]]
    #: A function as it is traced: its twin, whose control flow is captured (see ``capture``).
    converted: Callable[[Any], Any]
    #: A call in a twin: ``(function, args, kwargs)``.
    called: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    #: A sentence: why the function that asks for the truth of a traced value was not captured.
    why_not_captured: Callable[[], str]
    #: What to write if a library's code, or a C function, needs numbers.
    callback_instead: Callable[[bool], str]
    #: ``then() if test else orelse()`` for a traced bool whose value is not known.
    choose: Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
    #: A text of a traced value for the message of an exception, and how it is made.
    named: Callable[[Any, str], str]
    #: Makes the function raise an exception if a traced bool holds.
    fail_where: Callable[[Any, Exception], None]
    #: Whether a ``try`` of the user's handles an exception, and its handler can be compiled; the
    #: handler then runs where a traced bool does not hold.
    is_checked: Callable[[Any, BaseException], bool]
    #: The same for an operation that may fail.
    is_checked_op: Callable[[Any, type[BaseException]], bool]
    #: Makes the function raise the exceptions of operations that these outputs do not need.
    check_unread: Callable[[Any], None]
    #: ``not x`` of a bool, traced or not, and the type of the value that x stands for.
    negated: Callable[[Any], Any]
    type_of: Callable[[Any], type]
    #: The class of a traced value, as the code sees it that asks for ``x.__class__``.
    class_seen: Callable[[Any], type]
    #: Converts the result of a traced function, whose structure and shapes may vary or not.
    returned: Callable[[Any, bool], Any]
    #: A function that makes a result whose parts are nodes, after a call that is traced or not.
    put_together: Callable[[Any, bool], Callable[[Sequence[Any]], Any]]
    #: Whether a tree has such nodes.
    varies: Callable[[Any], bool]
    #: Raises for a list that grows in a captured loop, so that its length differs between steps.
    check_length: Callable[[Any], None]
    #: Converts a generator function to one that passes its yielded values to a function, or None.
    handing_on: Callable[[Any], Any]
    #: Converts it to one that is left at each ``yield``, or None; the names of the attributes that
    #: hold its state; and a run of it.
    resuming: Callable[[Any], Any]
    variables: Callable[[Any], tuple[str, ...]]
    step: Callable[[Any, Any, Any, Any, Any], None]
    #: The identities of the user's classes that were seen; and a function that forgets the others.
    seen_classes: Callable[[], frozenset[int]]
    forget_classes: Callable[[frozenset[int]], None]
    #: Called for each block.
    count_block: Callable[[], None]
    #: Converts a list of traced length to an array.
    elements_as_array: Callable[[Any], Any]
    #: Passes the results of a traced function through its checks.
    with_checks: Callable[[Any, Any], Any]
    #: ``ufunc.at``, ``out=``, ``ufunc.reduce`` and ``ufunc.accumulate``.
    add_at: Callable[[Any, Any, Any], Any]
    write_out: Callable[[str, Any, Any], Any]
    write_result: Callable[[str, Any, Any], Any]
    reduce_ufunc: Callable[..., Any]
    accumulate_ufunc: Callable[..., Any]
    #: The same of any ufunc, and ``ufunc.reduceat``, as loops.
    fold_ufunc: Callable[..., Any]
    reduce_at: Callable[..., Any]
    update_at: Callable[..., Any]

    #: Raises if results contain a NaN or an infinity and the inputs do not, for ``debug_nans``:
    #: ``(program, inputs, results, paths)``.
    check_results: Callable[[Any, Any, Any, Any], None]
    #: Raises if derivatives of a compiled function are wrong, for ``check="first"``: ``(compiled,
    #: args, kwargs, results)``.
    check_gradients: Callable[[Any, Any, Any, Any], None]
    #: Raises if compiled results differ from the interpreter's, for ``AUTOJIT_VERIFY``: ``(program,
    #: inputs, compiled)``.
    verify: Callable[[Any, Any, Any], None]

    def __init__(self) -> None:
        self._modules = places.ANSWERS
        self._lock = Lock()
        #: Drops data recorded beside a trace, after it has ended.
        self.releases: list[Callable[[], object]] = []
        #: The covered functions of SciPy, by their public names.
        self.scipys_functions: dict[str, Any] = {}

    def class_named(self, module: str, name: str) -> Any:
        """Our counterpart of a PyTorch class or function, by module and name: ``nn.Linear``.

        Raises AttributeError where there is none.
        """
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        theirs = importlib.import_module(places.CLASSES[module])
        with contextlib.suppress(AttributeError):
            return getattr(theirs, name)
        short = module.removeprefix(f"{__name__.partition('.')[0]}.")
        ours = importlib.import_module(module)
        raise MissingName(short, name, [*dir(ours), *dir(theirs)])

    def html(self, x: Any) -> str:
        """A piece of HTML that shows a program, a compiled or a transformed function."""
        made: str = importlib.import_module(places.NOTEBOOK).html(x)
        return made

    def load_check(self, name: str) -> None:
        """Import the module that checks something."""
        importlib.import_module(places.CHECKS[name])

    def load(self) -> None:
        """Import the modules that register hooks, unless that has been done."""
        if self._modules:
            with self._lock, seldom_collected():  # another thread may be importing them
                for name in self._modules:
                    importlib.import_module(name)
                self._modules = ()


hooks = Hooks()
