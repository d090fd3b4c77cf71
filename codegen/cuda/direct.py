"""A call of a program is one Python function, written for its arguments and results:

    def call(x0, x1):
        if x0.__class__ is Array and x0.type is t0 and x0.card is card and x1.__class__ is float:
            a0 = x0.pointer
            a1 = slot(x1, pack1)
            with lock.current:
                m0 = take(512)
                ...                        # the result r0 in the memory m0
                run((a0, a1, m0))
            return r0
        return general(x0, x1)

It takes half of the time of loops over arguments and results.  Arguments that are not on the card
already, or lie at odd places, are for the general call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autojit.ir.core.types import Type

from .arrays import DeviceArray
from .device_program.nodes import WIDEST
from .driver.memory import Memory
from .packaged import slot_of

if TYPE_CHECKING:
    from .capturing import Interleaved
    from .driver.card import Card
    from .driver.failures import Flags
    from .driver.launching import Launcher

#: With more arguments, the function would be long, and its calls are not short anyway.
MOST = 64


class Call(NamedTuple):
    """What a call needs.

    ``inputs`` has the type of each argument, and for a number the Python type and the function that
    packs it.  ``outputs`` has the type and the bytes of memory of each result.  ``arena`` is the
    number of bytes of the temporaries' memory, with their ``offsets``.  ``is_aligned`` says whether
    arguments must begin at multiples of ``WIDEST`` bytes.
    """

    card: Card
    launcher: Launcher | Interleaved
    inputs: Sequence[tuple[Type, type | None, Any]]
    outputs: Sequence[tuple[Type, int]]
    arena: int
    offsets: Sequence[int]
    flags: Flags | None
    explain: Any
    is_aligned: bool
    as_tuple: bool


def written(call: Call, general: Callable[..., Any]) -> Callable[..., Any]:
    """The function for a program; ``general`` is called for all other arguments."""
    arrays = [k for k, (_, weak, _) in enumerate(call.inputs) if weak is None]
    if not arrays or len(call.inputs) + len(call.outputs) > MOST:
        return general
    names: dict[str, Any] = {
        "Array": DeviceArray, "Memory": Memory, "new": object.__new__, "card": call.card,
        "lock": call.launcher.lock, "take": call.card.pool.take, "run": call.launcher.run,
        "slot": slot_of, "general": general, "flags": call.flags, "explain": call.explain,
    }  # fmt: skip
    text = "\n".join(_lines(call, arrays, names))
    exec(text, names)
    made: Callable[..., Any] = names["call"]
    return made


def _lines(call: Call, arrays: Sequence[int], names: dict[str, Any]) -> list[str]:
    """The lines of the function; ``names`` gets the objects that they name."""
    given = ", ".join(f"x{k}" for k in range(len(call.inputs)))
    tests, addresses = list[str](), list[str]()
    for k, (type, weak, pack) in enumerate(call.inputs):
        names[f"t{k}"], names[f"pack{k}"] = type if weak is None else weak, pack
        if weak is None:
            tests.append(f"x{k}.__class__ is Array and x{k}.type is t{k} and x{k}.card is card")
            addresses.append(f"x{k}.pointer")
        else:
            tests.append(f"x{k}.__class__ is t{k}")
            addresses.append(f"slot(x{k}, pack{k})")
    if call.is_aligned:
        either = " | ".join(f"x{k}.pointer" for k in arrays)
        tests.append(f"not ({either}) % {WIDEST}")
    lines = [f"def call({given}):", f"  if {' and '.join(tests)}:"]
    lines += [f"    a{k} = {a}" for k, a in enumerate(addresses)]
    passed = [f"a{k}" for k in range(len(addresses))]
    lines.append("    with lock.current:")
    inner = ["calls = None"]
    if call.flags is not None:
        inner = ["calls = flags.launched()", f"calls.note(({given},), explain)"]
    for k, (type, size) in enumerate(call.outputs):
        names[f"of{k}"] = type
        inner += _memory(f"m{k}", size)
        inner += [
            f"r{k} = new(Array)", f"r{k}.type = of{k}", f"r{k}.memory = m{k}", f"r{k}.card = card",
            f"r{k}.pointer = m{k}.pointer", f"r{k}.calls = calls",
        ]  # fmt: skip
        passed.append(f"m{k}.pointer")
    if call.arena:  # held until the launch
        inner += [*_memory("scratch", call.arena), "start = scratch.pointer"]
        passed += [f"start + {offset}" for offset in call.offsets]
    inner.append(f"run(({', '.join(passed)},))")
    results = ", ".join(f"r{k}" for k in range(len(call.outputs)))
    result = f"({results},)" if call.as_tuple and results else results or "()"
    return [
        *lines, *(f"      {line}" for line in inner), f"    return {result}",
        f"  return general({given})",
    ]  # fmt: skip


def _memory(name: str, size: int) -> list[str]:
    """Lines that take memory from the pool, as the initializer of ``Memory`` would."""
    return [
        f"pointer = take({size})", f"{name} = new(Memory)", f"{name}.card = card",
        f"{name}.pointer = pointer", f"{name}.nbytes = {size}", f"{name}.keep = None",
    ]  # fmt: skip
