"""Functions that programs share: written once, compiled once per process, linked to each program.

They take the numbers and addresses of functions in which programs differ as arguments, so a few of
them serve all. Functions that only check and call, without a loop worth optimizing, are compiled
together and without passes: a module of its own costs five milliseconds, and LLVM's passes as much
again. A program compiles the plain functions that no earlier program has called, as one group; it
is linked to whole groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from llvmlite import ir

from autojit.codegen.cpu.host.engine import AS_WRITTEN, PLAIN
from autojit.codegen.loop_ir.machine import current, has_fused
from autojit.ir.core.locks import Lock

from .counted import text

Write = Callable[[ir.Function], None]

#: LLVM IR by the name of the function, and the library functions that it calls.
_texts: dict[str, str] = {}
_calls: dict[str, list[str]] = {}
#: The declarations of functions that have vector variants, and the names of these.
_forms: dict[str, tuple[str, list[str]]] = {}
#: Plain functions, which call no others: type, and writer.
_plain: dict[str, tuple[ir.FunctionType, Write]] = {}
#: The LLVM IR of the group that contains a plain function; no function is in two groups.
_groups: dict[str, str] = {}
_lock = Lock()

_DECLARED = re.compile(r'^(declare \S+ @"([^"]+)"\(.*)$', re.MULTILINE)


def function(
    module: ir.Module,
    name: str,
    kind: ir.FunctionType,
    write: Write,
    *,
    as_written: bool = True,
) -> ir.Function:
    """Return a library function for a module to call; ``write`` writes its body, once."""
    if name not in _texts and name not in _plain:
        own = ir.Module(name)
        write(_new(own, name, kind))
        _calls[name] = _called(own)
        _texts[name] = AS_WRITTEN + text(own) if as_written else with_forms(text(own))
    return module.globals.get(name) or _new(module, name, kind)


def plain_function(
    module: ir.Module, name: str, kind: ir.FunctionType, write: Write
) -> ir.Function:
    """Return a library function that is compiled without passes, and calls no others."""
    _plain[name] = (kind, write)
    return module.globals.get(name) or _new(module, name, kind)


def elementary(module: ir.Module, name: str, bits: int) -> ir.Function:
    """Return an elementary function that is called, and not inlined."""
    from autojit.codegen.vector_math import called

    symbol = called.symbol(name, bits)
    if symbol not in _texts:
        own, register = ir.Module(symbol), current().vector_bytes
        called.define(own, name, bits, register, fused=has_fused())
        _forms[symbol] = called.declarations(name, bits, register)
        _texts[symbol] = AS_WRITTEN + text(own)
    return called.declare(module, name, bits)


def with_forms(words: str) -> str:
    """Return LLVM IR in which declarations of library functions name their vector variants."""
    kept: list[str] = []
    for line, symbol in _DECLARED.findall(words):
        if symbol in _forms:
            declared, names = _forms[symbol]
            words = words.replace(line, declared)
            kept += names
    if kept:
        listed = ", ".join(f'ptr @"{name}"' for name in kept)
        words += (
            f"\n@llvm.compiler.used = appending global [{len(kept)} x ptr] [{listed}], "
            'section "llvm.metadata"\n'
        )
    return words


def _new(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    made = ir.Function(module, kind, name)
    made.attributes.add("nounwind")
    return made


def used(module: ir.Module) -> list[str]:
    """Return the LLVM IR of all library functions that a module calls, directly or indirectly."""
    found, open_ = set(), _called(module)
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_ += _calls.get(name, ())
    return [*(_texts[name] for name in sorted(found - _plain.keys())), *_grouped(found)]


def _grouped(names: set[str]) -> list[str]:
    """Return the LLVM IR of the groups that contain the plain functions among the names."""
    plain = sorted(names & _plain.keys())
    with _lock:
        new = [name for name in plain if name not in _groups]
        if new:
            module = ir.Module("plain")
            for name in new:
                kind, write = _plain[name]
                write(_new(module, name, kind))
            _groups.update(dict.fromkeys(new, PLAIN + text(module)))
        return list(dict.fromkeys(_groups[name] for name in plain))


def _called(module: ir.Module) -> list[str]:
    return [name for name in module.globals if name in _texts or name in _plain]
