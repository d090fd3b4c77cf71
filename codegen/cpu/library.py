"""Functions that programs share: written once, compiled once a process, linked to each program.

They take numbers and addresses of other functions as arguments where programs differ, so few of
them serve all.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from .counted import text

#: LLVM IR by the name of the function.
_texts: dict[str, str] = {}


def function(
    module: ir.Module, name: str, kind: ir.FunctionType, write: Callable[[ir.Function], None]
) -> ir.Function:
    """A function of the library, for a module to call; ``write`` writes its body, once."""
    found = module.globals.get(name)
    if found is not None:
        return found
    if name not in _texts:
        own = ir.Module(name)
        made = ir.Function(own, kind, name)
        made.attributes.add("nounwind")
        write(made)
        _texts[name] = text(own)
    declared = ir.Function(module, kind, name)
    declared.attributes.add("nounwind")
    return declared


def used(module: ir.Module) -> list[str]:
    """The LLVM IR of the functions of the library that a module calls."""
    return [_texts[name] for name in module.globals if name in _texts]
