"""A module in parts, which are compiled side by side and linked as they are loaded.

A kernel is called by the core and by nothing else, so it can be compiled without the rest; so can
loops that were taken out of a kernel.  What only a kernel uses goes with it: its tasks, their
runner, the memory of its stopwatch.  Short functions that are inlined everywhere, and constants,
are copied into each part that names them.

How a module is divided depends on the module alone, and not on the processors there are: so does
what LLVM makes of it, and with it every last bit of a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType

from llvmlite import ir

from autojit.codegen.cpu.host.engine import SIMPLE
from autojit.codegen.cpu.llvm.counted import naming_itself
from autojit.codegen.cpu.llvm.library import with_forms

#: About this many lines of LLVM IR are worth a part of their own.
LINES = 200
#: The most parts: enough for a handful of processors, and to have the last ones done short.
MOST = 8

_NAME = re.compile(r'@"([^"]+)"')
_BRANCH = re.compile(r"^ +(br i1|switch) ", re.MULTILINE)
_ADDRESS = re.compile(r'^ +(%"[^"]+") = getelementptr [^,]*, ptr (%"[^"]+")', re.MULTILINE)
_LOADED = re.compile(r'^ +%\S+ = load [^,]*, ptr (%"[^"]+")', re.MULTILINE)
_STORED = re.compile(r'^ +store [^,]*, ptr (%"[^"]+")', re.MULTILINE)
_NOTHING: Mapping[str, str] = MappingProxyType({})


def parts(module: ir.Module, core: str, printed: Mapping[str, str] = _NOTHING) -> list[str]:
    """The LLVM IR of a module in parts, the first of them with the core.

    ``printed`` has the LLVM IR of some functions, by name: to print takes longer than all else.
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
    filled = _filled(own.difference(*kernels), kernels, lines)
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
        result.append(_for_passes(made, rereading & here))
    return result


def _for_passes(part: str, rereading: Set[str]) -> str:
    """The part, marked if the first level of passes is enough for it.

    Higher levels save loads of values that a loop has stored
    (``decisions/0108-levels-of-passes.md``).  The entry and the core run once per call and would
    save an instruction or two, so they do not count.
    """
    return part if rereading and _BRANCH.search(part) else SIMPLE + part


def _reads_what_it_writes(function: str) -> bool:
    """Whether a function loads and stores through the same pointer argument or stack slot."""
    base = dict(_ADDRESS.findall(function))
    loaded = {base.get(each, each) for each in _LOADED.findall(function)}
    return any(base.get(each, each) in loaded for each in _STORED.findall(function))


def _named(module: ir.Module) -> Iterator[str]:
    """Metadata with a name, which each part has as well."""
    for name, node in module.namedmetadata.items():
        yield f"!{name} = !{{ {', '.join(each.get_reference() for each in node.operands)} }}"


def _is_apart(value: ir.GlobalValue) -> bool:
    """Whether it is a function that was taken out of a kernel."""
    return isinstance(value, ir.Function) and "noinline" in value.attributes


def _is_copied(value: ir.GlobalValue) -> bool:
    """Whether each part may have its own."""
    if isinstance(value, ir.Function):
        return value.is_declaration or "alwaysinline" in value.attributes
    return bool(value.global_constant)


def _lines(words: Mapping[str, str], copied: Set[str]) -> dict[str, int]:
    """How long each function is, with the functions that are inlined into it."""
    lines = {name: text.count("\n") for name, text in words.items()}
    inlined = {name: lines[name] for name in copied}
    return {
        name: lines[name] + sum(inlined.get(called, 0) for called in _NAME.findall(text))
        for name, text in words.items()
    }


def _used(names: Iterable[str], uses: Mapping[str, set[str]]) -> set[str]:
    return set().union(*(uses[name] for name in names))


def _reached(names: Set[str], uses: Mapping[str, set[str]], within: Set[str]) -> set[str]:
    """Some names, and the names that they use, and so on, as far as they are in a set."""
    found: set[str] = set()
    new = set(names) & within
    while new:
        found |= new
        new = (_used(new, uses) & within) - found
    return found


def _apart(groups: list[set[str]]) -> list[set[str]]:
    """Groups that share something made one."""
    result: list[set[str]] = []
    for group in groups:
        sharing = [other for other in result if other & group]
        result = [other for other in result if not other & group] + [group.union(*sharing)]
    return result


def _filled(rest: set[str], kernels: list[set[str]], lines: Mapping[str, int]) -> list[set[str]]:
    """Parts of about one size: the longest kernel goes first, to the part that is shortest."""

    def size(names: Iterable[str]) -> int:
        return sum(lines[name] for name in names)

    whole = rest.union(*kernels)
    count = min(size(whole) // LINES, MOST)
    result = [rest, *(set[str]() for _ in range(count - 1))]
    for kernel in sorted(kernels, key=size, reverse=True):
        min(result, key=size).update(kernel)
    # Beside one that is most of it all, the others have to be worth a thread.
    if size(whole) - max(map(size, result)) < LINES // 2:
        return [whole]
    return [part for part in result if part]


def _declaration(function: ir.Function) -> str:
    """A function of another part.  Nothing else is used across parts."""
    kind = function.ftype
    arguments = ", ".join(map(str, kind.args))
    return f"declare {kind.return_type} {function.get_reference()}({arguments}) nounwind"
