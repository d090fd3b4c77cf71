"""Every target, and the interpreter, supports every word of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from llvmlite import ir

from autojit.codegen.cpu.llvm.scalars import Scalars, llvm_type
from autojit.codegen.cuda.printing.words import Words
from autojit.codegen.export.loops.c_words import expression
from autojit.codegen.export.text.expressions import Expression
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.vocabulary import WORDS
from autojit.codegen.loop_text.words import evaluate
from autojit.codegen.vector_math import NAMES
from autojit.ir.core.types import dtype_from_name

DTYPES = ["f32", "f64", "i8", "i64", "u8", "u64", "bool"]
EVERY = [(dtype, word) for dtype in DTYPES for word in WORDS[dtype[0]]]


def by_the_interpreter(word: str, dtype: str, count: int) -> None:
    with np.errstate(all="ignore"):
        evaluate(word, [dtype_from_name(dtype).type(1)] * count, dtype)


def for_the_cpu(word: str, dtype: str, count: int) -> None:
    module, kind = ir.Module(), llvm_type(dtype)
    function = ir.Function(module, ir.FunctionType(kind, [kind] * count), "f")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    made = Scalars(builder, module).emit(word, list(function.args), dtype, dtype)
    assert made.type == kind


def for_cuda(word: str, dtype: str, count: int) -> None:
    assert Words().expression(word, ["x", "y"][:count], dtype, dtype)


def in_c(word: str, dtype: str, count: int) -> None:
    operands = [Expression("x"), Expression("y")][:count]
    assert expression(word, operands, dtype, dtype).text


WAYS = [by_the_interpreter, for_the_cpu, for_cuda, in_c]


@pytest.mark.parametrize("write", WAYS, ids=lambda way: way.__name__)
def test_every_word_is_known(write: Callable[[str, str, int], None]) -> None:
    for dtype, word in EVERY:
        write(word, dtype, WORDS[dtype[0]][word])


@pytest.mark.parametrize("write", WAYS, ids=lambda way: way.__name__)
def test_others_are_refused(write: Callable[[str, str, int], None]) -> None:
    for dtype in ("f64", "i64", "bool"):
        with pytest.raises((TargetError, AttributeError), match="frobnicate"):
            write("frobnicate", dtype, 2)


def test_elementary_functions_are_words() -> None:
    assert set(WORDS["f"]) >= NAMES
