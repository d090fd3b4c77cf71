"""Random draws in traced code.

Numbers that are drawn during tracing would be the same in all later calls, and in all iterations of
a loop that is traced once. So autojit refuses draws, except from a generator that the same code
makes from a seed: it draws the same numbers in plain NumPy too.
"""

from __future__ import annotations

import operator
import os
import random
import secrets
import uuid
from typing import Any

import numpy as np

from autojit.capture.values.table import When, answers
from autojit.errors import FrozenRandomError, with_place
from autojit.tracing.context import current_trace, is_kept
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

Generator, RandomState = np.random.Generator, np.random.RandomState
_GLOBAL: Any = np.random.normal.__self__  # type: ignore[attr-defined]
#: Methods that draw nothing.
_PLAIN = frozenset({"seed", "spawn", "get_state", "set_state", "getstate", "setstate"})


def _made(generator: Any, *, seeded: bool) -> Any:
    trace = current_trace()
    if seeded and trace is not None:
        trace.generators.append(generator)
    return generator


def _is_own(generator: Any) -> bool:
    """Whether the traced code has made a generator from a seed."""
    trace = current_trace()
    return trace is not None and any(generator is made for made in trace.generators)


def drawn(f: Any, args: Any, kwargs: Any) -> Any:
    """Call a method of a generator."""
    owner, name = f.__self__, f.__name__
    if name not in _PLAIN and is_kept() and not _is_own(owner):
        raise _frozen(owner, name)
    _check_size(kwargs.get("size"))
    result = f(*args, **kwargs)
    if name == "seed":
        _made(owner, seeded=bool(args or kwargs))
    elif name == "spawn":
        for child in result:
            _made(child, seeded=_is_own(owner))
    return result


def _check_size(size: Any) -> None:
    """Raise ConcreteValueError for a shape of unknown value, before NumPy says that it is no
    integer."""
    for extent in size if isinstance(size, (tuple, list)) else (size,):
        if is_tracer(extent):
            operator.index(extent)


def _frozen(owner: Any, name: str) -> FrozenRandomError:
    written = f"rng.{name}"
    if owner is _GLOBAL:
        written = f"np.random.{name}"
    elif isinstance(owner, random.Random):
        written = f"random.{name}"
    return FrozenRandomError(
        with_place(
            f"{written} in a compiled function, or in a loop or branch that is traced once, would "
            "draw when the function is compiled, and every call would see the same numbers. Draw "
            "outside, and pass the numbers as an argument:\n"
            "    jit(f)(x, rng.normal(size=3))      # not: rng.normal(size=3) in f\n"
            "A generator that f creates from a seed always draws the same numbers, so it is "
            "allowed:\n"
            "    rng = np.random.default_rng(0)     # in f",
            user_source(),
        )
    )


def _of_system(function: Any, name: str) -> None:
    """Answer a function that asks the system for random bytes."""

    def read(*args: Any, **kwargs: Any) -> Any:
        if is_kept():
            raise FrozenRandomError(
                with_place(
                    f"{name} in a compiled function, or in a loop or branch that is traced once, "
                    "would be called when the function is compiled, and every call would see "
                    "the same bytes. Pass its result as an argument:\n"
                    f"    jit(f)(x, {name}({_GIVEN.get(name, '')}))",
                    user_source(),
                )
            )
        return function(*args, **kwargs)

    answers(function, when=When.ALWAYS)(read)


_GIVEN = {"os.urandom": "8", "secrets.randbelow": "6", "secrets.choice": "xs",
          "secrets.randbits": "8"}  # fmt: skip

for _module, _names in (
    (os, ("urandom", "getrandom")),
    (uuid, ("uuid1", "uuid4")),
    (secrets, ("randbelow", "choice", "randbits", "token_bytes", "token_hex", "token_urlsafe")),
):
    for _name in _names:
        if hasattr(_module, _name):  # some systems lack some of them
            _of_system(getattr(_module, _name), f"{_module.__name__}.{_name}")


def _makes(function: Any) -> None:
    """Answer a function or class that makes a generator from a seed or from a seeded source."""

    def make(*args: Any, **kwargs: Any) -> Any:
        given = [x for x in (*args, *kwargs.values()) if x is not None]
        sources = (Generator, RandomState, np.random.BitGenerator)
        seeded = bool(given) and all(_is_own(x) for x in given if isinstance(x, sources))
        return _made(function(*args, **kwargs), seeded=seeded)

    answers(function, when=When.ALWAYS)(make)


for _function in (
    np.random.default_rng, Generator, RandomState, np.random.PCG64, np.random.PCG64DXSM,
    np.random.MT19937, np.random.Philox, np.random.SFC64, random.Random,
):  # fmt: skip
    _makes(_function)


@answers(np.random.seed, when=When.ALWAYS)
def _seed(seed: Any = None) -> None:
    np.random.seed(seed)
    _made(_GLOBAL, seeded=seed is not None)
