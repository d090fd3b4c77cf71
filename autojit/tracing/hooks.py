"""What floors above register here, for tracing, which lies below them.

A traced array answers NumPy by functions that are built on traced arrays themselves.  The modules
of these functions set their hook when they are imported; :mod:`autojit.places` names the modules,
which are imported before the first trace (:meth:`Hooks.load`), so that ``import autojit`` stays
quick.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from autojit import places
from autojit.ir.core.locks import Lock


class Hooks:
    """The functions, by what they do."""

    #: NumPy's protocols: ``(ufunc, method, inputs, kwargs)``, and ``(function, args, kwargs)``.
    call_ufunc: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
    call_function: Callable[[Any, Any, Any], Any]
    #: Python's operators: ``(ufunc, left, right)``, and ``(ufunc, x)``.
    call_operator: Callable[[Any, Any, Any], Any]
    call_unary_operator: Callable[[Any, Any], Any]
    #: Methods of arrays that are no function of NumPy's.
    getitem: Callable[[Any, Any], Any]
    setitem: Callable[[Any, Any, Any], None]
    astype: Callable[..., Any]
    copy: Callable[..., Any]
    fill: Callable[[Any, Any], None]
    sort: Callable[..., None]
    view: Callable[..., Any]
    #: Anything as a traced array.
    as_tracer: Callable[[Any], Any]
    #: Nested lists of numbers, some of them traced, as a traced array.
    stack_nested: Callable[[Any], Any]
    #: A created array as a traced one from now on, and its item at a traced index.
    traced: Callable[[Any], Any]
    item_at_traced: Callable[[Any, Any], Any]
    #: What is asked where an argument is a bounded array: ``(function, args, kwargs)``,
    #: ``(ufunc, method, inputs, kwargs)``, and an operator ``(ufunc, *operands)``.
    bounded_function: Callable[[Any, Any, Any], Any]
    bounded_ufunc: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
    bounded_operator: Callable[..., Any]
    #: Items and slices with traced bounds, and of bounded arrays: read, and assigned to.
    get_bounded: Callable[[Any, Any], Any]
    set_bounded: Callable[[Any, Any, Any], None]
    write_bounded: Callable[[Any, Any], None]
    #: Items through masks that are not known, places where these hold, an index of such places as
    #: the mask, and items at bounded arrays of places.
    get_masked: Callable[[Any, Any], Any]
    set_masked: Callable[[Any, Any, Any], None]
    places_of: Callable[[Any], tuple[Any, ...]]
    mask_in: Callable[[Any, Any], Any]
    get_at: Callable[[Any, Any], Any]
    #: A context in which NumPy's names see traced values.
    visible: Callable[[], AbstractContextManager[None]]
    #: A function as it is traced: its twin, whose control flow is captured (see ``capture``).
    converted: Callable[[Any], Any]
    #: A sentence: why the function that asks for the truth of a traced value was not captured.
    why_not_captured: Callable[[], str]
    #: What to write where a library's code, or a function in C, wants numbers.
    callback_instead: Callable[[bool], str]
    #: ``then() if test else orelse()`` for a traced bool whose value is not known.
    choose: Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
    #: The function raises an exception where a traced bool holds.
    fail_where: Callable[[Any, Exception], None]
    #: ``not x`` of a bool, traced or not, and the type of the value that x stands for.
    negated: Callable[[Any], Any]
    type_of: Callable[[Any], type]
    #: What a traced function returns, where something of it may be None.
    returned: Callable[[Any], Any]
    #: Raises for a list that grows in a captured loop, whose length differs from step to step.
    check_length: Callable[[Any], None]
    #: A generator function as one that calls a function with what it yields, or None.
    handing_on: Callable[[Any], Any]
    #: A list whose length is a value as an array.
    elements_as_array: Callable[[Any], Any]
    #: Results of a traced function that pass through what has to hold.
    with_checks: Callable[[Any, Any], Any]
    #: ``ufunc.at``, ``out=``, ``ufunc.reduce`` and ``ufunc.accumulate``.
    add_at: Callable[[Any, Any, Any], Any]
    write_out: Callable[[str, Any, Any], Any]
    reduce_ufunc: Callable[..., Any]
    accumulate_ufunc: Callable[..., Any]
    #: The same of any ufunc, and ``ufunc.reduceat``, as loops.
    fold_ufunc: Callable[..., Any]
    reduce_at: Callable[..., Any]
    update_at: Callable[..., Any]

    #: Raises where results hold a NaN or an infinity that the inputs do not, for ``debug_nans``:
    #: ``(program, inputs, results, paths)``.
    check_results: Callable[[Any, Any, Any, Any], None]
    #: Raises where derivatives of a compiled function are wrong, for ``check="first"``:
    #: ``(compiled, args, kwargs, results)``.
    check_gradients: Callable[[Any, Any, Any, Any], None]
    #: Raises where compiled results are not the interpreter's, for ``AUTOJIT_VERIFY``:
    #: ``(program, inputs, compiled)``.
    verify: Callable[[Any, Any, Any], None]

    def __init__(self) -> None:
        self._modules = places.ANSWERS
        self._lock = Lock()
        #: Let go of what is recorded beside a trace, once that has ended.
        self.releases: list[Callable[[], object]] = []
        #: SciPy's functions that are answered for, by their public names.
        self.scipys_functions: dict[str, Any] = {}

    def class_named(self, module: str, name: str) -> Any:
        """What PyTorch has by a name in a module of which we have the functions: ``nn.Linear``.

        Raises AttributeError where there is none.
        """
        if not name.startswith("_"):
            with contextlib.suppress(AttributeError):
                return getattr(importlib.import_module(places.CLASSES[module]), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def html(self, x: Any) -> str:
        """A piece of HTML that shows a program, a compiled or a transformed function."""
        made: str = importlib.import_module(places.NOTEBOOK).html(x)
        return made

    def load_check(self, name: str) -> None:
        """Import the module that checks something."""
        importlib.import_module(places.CHECKS[name])

    def load(self) -> None:
        """Import the modules that answer, unless that has been done."""
        if self._modules:
            with self._lock:  # another thread may be importing them
                for name in self._modules:
                    importlib.import_module(name)
                self._modules = ()


hooks = Hooks()
