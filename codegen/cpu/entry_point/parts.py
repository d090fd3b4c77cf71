"""Modules are split into parts, which are compiled in parallel and linked when they are loaded.

A kernel is called only by the core, so it can be compiled separately, and so can loops that were
outlined from a kernel. Everything that only a kernel uses goes with it: its tasks, their runner,
the memory of its stopwatch. Short functions that are inlined everywhere, and constants, are copied
into each part that refers to them.

The division depends on the module alone and not on the number of processors. So does the code that
LLVM generates, and with it every last bit of a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType

from llvmlite import ir

from autojit.codegen.cpu.host.engine import PLAIN, SIMPLE
from autojit.codegen.cpu.llvm.counted import naming_itself
from autojit.codegen.cpu.llvm.library import with_forms

#: Parts have at least about this many lines of LLVM IR.
LINES = 200
#: The most parts: enough for a handful of processors, and few enough that the last finish soon.
MOST = 8

#: The longest core, in lines, that goes through passes. Passes and code generation take time that
#: grows with its square: 0.6 s for so many, 25 s for 1,200 calls of kernels.
LONGEST_CORE = 1000

_NAME = re.compile(r'@"([^"]+)"')
_BRANCH = re.compile(r"^ +(br i1|switch) ", re.MULTILINE)
_ADDRESS = re.compile(r'^ +(%"[^"]+") = getelementptr [^,]*, ptr (%"[^"]+")', re.MULTILINE)
_LOADED = re.compile(r'^ +%\S+ = load [^,]*, ptr (%"[^"]+")', re.MULTILINE)
_STORED = re.compile(r'^ +store [^,]*, ptr (%"[^"]+")', re.MULTILINE)
_NOTHING: Mapping[str, str] = MappingProxyType({})


def parts(module: ir.Module, core: str, printed: Mapping[str, str] = _NOTHING) -> list[str]:
    """Return the LLVM IR of a module in parts; the first contains the core.

    A long core, which calls kernels one after the other, is a part of its own. It is compiled as it
    is written.

    ``printed`` has the LLVM IR of some functions by name, since printing takes most of the time.
    """
    words = {name: printed.get(name) or str(value) for name, value in module.globals.items()}
    uses = {name: set(_NAME.findall(words[name])) - {name} for name in words}
    copied = {name for name, value in module.globals.items() if _is_copied(value)}
    own = words.keys() - copied
    lines = _lines(words, copied)
    called = (uses[core] & own) | {name for name in own if _is_apart(module.globals[name])}
    rereading = {
        name
        for name in own - {core}
        if module.globals[name].linkage == "internal" and _reads_what_it_writes(words[name])
    }
    kernels = _apart(
        [_reached({name}, uses, own - called | {name}) for name in words if name in called]
    )
    rest = own.difference(*kernels)
    alone = words[core].count("\n") > LONGEST_CORE and bool(kernels)
    filled = [rest, *_filled(set(), kernels, lines)] if alone else _filled(rest, kernels, lines)
    metadata = naming_itself("\n".join([*map(str, module.metadata), *_named(module)]))
    if len(filled) < 2:
        return [_for_passes(with_forms("\n".join([*words.values(), metadata])), rereading)]
    result = []
    for part in filled:
        here = part | _reached(_used(part, uses), uses, copied)
        elsewhere = _used(here, uses) - here
        pieces = [_declaration(module.globals[name]) for name in words if name in elsewhere]
        pieces += [
            words[name].replace(" internal ", " ", 1) if name in called else words[name]
            for name in words
            if name in here
        ]
        made = with_forms("\n".join([*pieces, metadata]))
        plain = alone and part is rest
        result.append(PLAIN + made if plain else _for_passes(made, rereading & here))
    return result


def _for_passes(part: str, rereading: Set[str]) -> str:
    """Return the part, marked if the first level of passes is enough for it.

    Higher levels save loads of values that a loop has stored
    (``decisions/0108-levels-of-passes.md``). The entry and the core run once per call and would
    save an instruction or two, so they do not count.
    """
    return part if rereading and _BRANCH.search(part) else SIMPLE + part


def _reads_what_it_writes(function: str) -> bool:
    """Whether a function loads and stores through the same pointer argument or stack slot."""
    base = dict(_ADDRESS.findall(function))
    loaded = {base.get(each, each) for each in _LOADED.findall(function)}
    return any(base.get(each, each) in loaded for each in _STORED.findall(function))


def _named(module: ir.Module) -> Iterator[str]:
    """Yield the named metadata, which each part needs."""
    for name, node in module.namedmetadata.items():
        yield f"!{name} = !{{ {', '.join(each.get_reference() for each in node.operands)} }}"


def _is_apart(value: ir.GlobalValue) -> bool:
    """Whether a value is a function that was outlined from a kernel."""
    return isinstance(value, ir.Function) and "noinline" in value.attributes


def _is_copied(value: ir.GlobalValue) -> bool:
    """Whether each part may have a copy of a value."""
    if isinstance(value, ir.Function):
        return value.is_declaration or "alwaysinline" in value.attributes
    return bool(value.global_constant)


def _lines(words: Mapping[str, str], copied: Set[str]) -> dict[str, int]:
    """Return the length of each function, including functions that are inlined into it."""
    lines = {name: text.count("\n") for name, text in words.items()}
    inlined = {name: lines[name] for name in copied}
    return {
        name: lines[name] + sum(inlined.get(called, 0) for called in _NAME.findall(text))
        for name, text in words.items()
    }


def _used(names: Iterable[str], uses: Mapping[str, set[str]]) -> set[str]:
    return set().union(*(uses[name] for name in names))


def _reached(names: Set[str], uses: Mapping[str, set[str]], within: Set[str]) -> set[str]:
    """Return the names reachable from some names within a set."""
    found: set[str] = set()
    new = set(names) & within
    while new:
        found |= new
        new = (_used(new, uses) & within) - found
    return found


def _apart(groups: list[set[str]]) -> list[set[str]]:
    """Merge groups that share an element."""
    result: list[set[str]] = []
    for group in groups:
        sharing = [other for other in result if other & group]
        result = [other for other in result if not other & group] + [group.union(*sharing)]
    return result


def _filled(rest: set[str], kernels: list[set[str]], lines: Mapping[str, int]) -> list[set[str]]:
    """Divide into parts of similar size: the longest kernel goes first, to the shortest part."""

    def size(names: Iterable[str]) -> int:
        return sum(lines[name] for name in names)

    whole = rest.union(*kernels)
    count = min(size(whole) // LINES, MOST)
    result = [rest, *(set[str]() for _ in range(count - 1))]
    for kernel in sorted(kernels, key=size, reverse=True):
        min(result, key=size).update(kernel)
    # If one part is most of the module, the others must be worth a thread.
    if size(whole) - max(map(size, result)) < LINES // 2:
        return [whole]
    return [part for part in result if part]


def _declaration(function: ir.Function) -> str:
    """Declare a function of another part. Nothing else is used across parts."""
    kind = function.ftype
    arguments = ", ".join(map(str, kind.args))
    return f"declare {kind.return_type} {function.get_reference()}({arguments}) nounwind"
