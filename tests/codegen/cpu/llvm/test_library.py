"""Functions that programs share."""

from __future__ import annotations

import re
from typing import Any

import pytest
from llvmlite import ir

from autojit.codegen.cpu.llvm import library

KIND = ir.FunctionType(ir.VoidType(), [])


def written(function: Any) -> None:
    ir.IRBuilder(function.append_basic_block()).ret_void()


def calling(*names: str) -> ir.Module:
    module = ir.Module()
    for name in names:
        library.plain_function(module, name, KIND, written)
    return module


def defined(text: str) -> list[str]:
    return re.findall(r'^define .*@"(\w+)"', text, re.MULTILINE)


def test_plain_functions_are_compiled_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_groups", {})
    monkeypatch.setattr(library, "_plain", {})
    (first,) = library.used(calling("a", "b"))
    assert defined(first) == ["a", "b"]
    assert library.used(calling("b")) == [first]
    again, more = library.used(calling("c", "a"))
    assert again == first
    assert defined(more) == ["c"]
