"""``jit``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from autojit.errors import (
    DonationWarning,
    SettingError,
    UnsupportedTargetError,
    warn_at,
)
from autojit.session.tracebacks import folded
from autojit.spelling import closest
from autojit.staging.settings import TWICE, need_function
from autojit.staging.transformed import P, R
from autojit.tracing.source import user_source

from .cells import look_at_each_cell
from .compiled import CompiledFunction

DEVICES = ("cpu", "cuda")
_CARD = re.compile(r"cuda:\d{1,3}")
#: Names of a GPU in other libraries.
_GPUS = dict.fromkeys(("gpu", "nvidia", "cuda"), "cuda")
TIERS = ("compiled", "auto")

DONATED = (
    "donate_argnums={!r} has no effect: results never reuse the memory of arguments, because "
    "inputs are never written to. Large results reuse the memory of earlier results that are no "
    "longer referenced. Leave it out:\n"
    "    jit(f)"
)


# NumPy's ufuncs are overloaded, and a ParamSpec would keep their first signature alone.
@overload
def jit(
    f: np.ufunc,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    device: str | None = None,
    tier: str = "compiled",
    check: str | None = None,
) -> CompiledFunction[..., Any]: ...


@overload
def jit(
    f: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    device: str | None = None,
    tier: str = "compiled",
    check: str | None = None,
) -> CompiledFunction[P, R]: ...


@overload
def jit(
    f: None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    device: str | None = None,
    tier: str = "compiled",
    check: str | None = None,
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...


@folded
def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    device: str | None = None,
    tier: str = "compiled",
    check: str | None = None,
) -> Any:
    """Compile a function: traced once for each signature, then called natively.

    Args:
        f: a function of arrays, numbers, or trees of them. Omitted in ``@jit(...)``.
        static_argnums: positions of arguments that are settings, not arrays; they must be
            hashable, and each new value is compiled separately. Strings, enums, functions, classes
            and other hashable objects that compare by value (ranges, dtypes, paths) are static
            automatically. Numbers and bools are traced unless they are named here.
        static_argnames: the same by name.
        donate_argnums: for compatibility with JAX, which overwrites such arguments. autojit never
            writes to inputs: anything but ``()`` has no effect except a warning.
        device: ``"cpu"`` or ``"cuda"`` (``"cuda:1"`` for the second card). Transformations of the
            function, such as its gradient, run there too; two different devices in one program are
            an error. By default the function runs where its arrays are: on a GPU if one of its
            arguments, or an array that it closes over, is there (:func:`autojit.device_put`), else
            on the CPU. Results are arrays on the GPU if an argument is there, else NumPy arrays.
        tier: ``"compiled"`` (the default): the first call waits for the compiler. ``"auto"``: the
            compiler runs in a thread, and until the code is ready NumPy answers calls op by op;
            results agree to rounding. This suits sessions that try many functions once. The
            compiler occupies one core meanwhile, and calls of programs with loops, or of large
            ones, still wait. The next call raises any error of the compiler.

    Raises:
        UnsupportedTargetError: for an unknown device or tier, or a device that is not available.
        MixedDevicesError: if a function that it calls, or an argument, is on another device.
        UnhashableStaticError, NotArrayError, ConcreteValueError, UncoveredFunctionError:
            each naming the argument or the line, with the fix.

    >>> import numpy as np
    >>> from autojit import jit
    >>> @jit
    ... def f(x):
    ...     return np.sin(x) ** 2 + np.cos(x) ** 2
    >>> f(np.array([0.1, 0.2]))
    array([1., 1.])
    """
    if f is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            device=device,
            tier=tier,
            check=check,
        )
    need_function(f, "jit", TWICE)
    if device is not None:
        check_device(device)
    if _as_tuple(donate_argnums, "donate_argnums=0"):
        warn_at(user_source(), DonationWarning, DONATED.format(donate_argnums))
    if tier not in TIERS:
        close = closest(str(tier), TIERS)
        raise UnsupportedTargetError(f"tier must be 'compiled' or 'auto', not {tier!r}.{close}")
    if check not in (None, "first"):
        raise SettingError(
            f"check must be 'first' or None, not {check!r}:\n    jit(f, check='first')"
        )
    made = CompiledFunction(
        f,
        _as_tuple(static_argnums, "static_argnums=0"),
        _as_tuple(static_argnames, 'static_argnames="n"', str),
        device,
        tier,
        check,
    )
    return look_at_each_cell(made)


def check_device(device: Any) -> None:
    """Raise UnsupportedTargetError unless ``device`` names a device."""
    if device not in DEVICES and not _CARD.fullmatch(str(device)):
        close = closest(_GPUS.get(str(device).lower().split(":")[0], str(device)), DEVICES)
        raise UnsupportedTargetError(
            f"device must be 'cpu' or 'cuda', not {device!r}.{close}\n"
            "    jit(f, device='cuda')              # a GPU of NVIDIA's"
        )


def _as_tuple(x: Any, example: str, kinds: Any = object) -> tuple[Any, ...]:
    """A setting of one or several as several; SettingError if it holds something else."""
    several = (x,) if isinstance(x, (int, np.integer, str)) else x
    fits = isinstance(several, (list, tuple, set, frozenset, range))
    if fits and all(isinstance(each, kinds) for each in several):
        return tuple(several)
    name = example.partition("=")[0]
    raise SettingError(f"jit: {name} is {x!r:.60} of type {type(x).__name__}. Write:\n"
                       f"    jit(f, {example})")  # fmt: skip
