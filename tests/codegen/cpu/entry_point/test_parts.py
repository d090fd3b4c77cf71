"""Modules in parts: how they are divided, and that the parts together are the program."""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

import autojit
from autojit import grad, jit, trace
from autojit.codegen.cpu.emit import outlined
from autojit.codegen.cpu.entry_point import parts as dividing
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.cpu.entry_point.parts import parts
from autojit.codegen.cpu.host import engine
from autojit.codegen.driver.executable import Executable
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes.pipeline import optimize

X = np.linspace(0.1, 0.9, 12).reshape(3, 4)


def many_kernels(x: Any) -> Any:
    """Reductions of results of reductions, which no two loops can share."""
    for _ in range(6):
        x = np.exp(x - np.max(x, 1, keepdims=True))
        x = x / np.sum(x, 0) + np.tanh(x)
    return np.sum(x * np.log(x))


def module_of(f: Any, *args: Any) -> Module:
    program = trace(f)(*args)
    return Module(lower(optimize(program)), program.in_types, program.out_types)


def defined(part: str) -> set[str]:
    """The names that a part defines for others."""
    return set(re.findall(r'^define (?!internal)[^\n]*?@"([^"]+)"', part, re.MULTILINE))


def test_each_kernel_is_in_one_part_and_the_core_in_the_first() -> None:
    module = module_of(grad(many_kernels), X)
    divided = parts(module.module, "core")
    assert 2 < len(divided) <= dividing.MOST
    own = [defined(part) for part in divided]
    kernels = set(re.findall(r'@"(kernel[^"]*)"', str(module.core)))
    assert set().union(*own) == kernels
    assert sum(map(len, own)) == len(kernels)
    assert '@"core"' in divided[0]
    assert not any('@"core"' in part for part in divided[1:])


def test_a_long_core_is_compiled_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes over calls in a row take time in proportion to the square of their number."""
    program = trace(grad(many_kernels))(X)
    (wanted,) = Executable(program).call([X])
    monkeypatch.setattr(dividing, "LONGEST_CORE", 5)
    first, *others = parts(module_of(grad(many_kernels), X).module, "core")
    assert first.startswith(engine.PLAIN)
    assert '@"core"' in first
    assert not defined(first)
    assert others
    assert not any(part.startswith(engine.PLAIN) for part in others)
    (found,) = Executable(program).call([X])
    np.testing.assert_array_equal(found, wanted)


def test_division_does_not_depend_on_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        texts.append(parts(module_of(grad(many_kernels), X).module, "core"))
    assert texts[0] == texts[1] == texts[2]


def test_short_programs_stay_whole() -> None:
    assert len(parts(module_of(lambda x: np.sum(np.sin(x)), X).module, "core")) == 1


def test_kernels_that_read_what_they_write_go_through_all_passes() -> None:
    def levels(f: Any, *args: Any) -> list[bool]:
        module = module_of(f, *args)
        return [part.startswith(engine.SIMPLE) for part in parts(module.module, "core")]

    def filled(x: Any) -> Any:
        def step(y: Any, i: Any) -> tuple[Any, None]:
            y = y.copy()
            y[i] = y[i - 1] * 2 + x[i]
            return y, None

        return autojit.scan(step, np.zeros(100), np.arange(100))[0]

    assert levels(lambda x: np.exp(x) + 1, np.ones(100)) == [True]
    assert levels(filled, np.ones(100)) == [False]
    assert set(levels(grad(many_kernels), X)) == {True, False}


def test_what_two_kernels_use_keeps_them_together() -> None:
    module = ir.Module()
    kind = ir.FunctionType(ir.IntType(64), [])
    memory = ir.GlobalVariable(module, ir.IntType(64), "memory")
    memory.initializer = ir.Constant(ir.IntType(64), 1)
    memory.linkage = "internal"

    def function(name: str, *called: ir.Function, reads: bool = False, lines: int = 0) -> Any:
        made = ir.Function(module, kind, name)
        made.linkage = "internal"
        b = ir.IRBuilder(made.append_basic_block())
        value = b.load(memory) if reads else ir.Constant(ir.IntType(64), 1)
        for _ in range(lines):
            value = b.add(value, value)
        for other in called:
            value = b.add(value, b.call(other, []))
        b.ret(value)
        return made

    shared = function("shared")
    kernels = [
        function("a", shared, lines=300),
        function("b", shared, lines=200),
        function("c", reads=True, lines=250),
        function("d", lines=260),
        function("e", reads=True, lines=100),
    ]
    core = function("core", *kernels)
    core.linkage = ""
    own = [defined(part) for part in parts(module, "core")]
    home = {name: i for i, names in enumerate(own) for name in names}
    assert home["a"] == home["b"]
    assert home["c"] == home["e"]
    assert len({home["a"], home["c"], home["d"]}) == 3
    compiled = engine.Compiled(parts(module, "core"))
    native = ctypes.CFUNCTYPE(ctypes.c_int64)(compiled.address("core"))
    python = [(1 << 300) + 1, (1 << 200) + 1, 1 << 250, 1 << 260, 1 << 100]
    assert native() == (1 + sum(python)) % (1 << 64)


def test_parts_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    f = autojit.value_and_grad(many_kernels)
    program = trace(f)(X)
    divided = Executable(program)
    one = divided.call([X])
    monkeypatch.setattr(dividing, "LINES", 10**9)
    whole = Executable(program)
    np.testing.assert_allclose(one[0], whole.call([X])[0], rtol=1e-14)
    np.testing.assert_allclose(one[1], whole.call([X])[1], rtol=1e-12)
    assert len(divided._compiled[0].parts) > 1 == len(whole._compiled[0].parts)
    text = divided.llvm()
    compiled = divided._compiled[0]
    assert text.count("; ModuleID") == len(compiled.parts) + len(compiled.shared)
    assert divided.assembly().count("autojit_entry") >= 1


def test_long_loops_in_steps_are_functions_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """They get the indices, scalars and swapped buffers of the code around them."""

    def loss(x: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            x, angle = carry
            moved = np.roll(x, 1) * np.sin(angle) + np.roll(x, -1) * i
            return (x + 0.1 * np.tanh(moved), angle * 0.9), None

        (x, angle), _ = autojit.scan(step, (x, 0.5), np.arange(6.0))
        return np.sum(x) + angle

    x = np.linspace(0.1, 0.9, 2000)
    program = trace(autojit.value_and_grad(loss))(x)
    monkeypatch.setattr(outlined, "LONG", 10**9)
    whole = Executable(program)
    arguments = [x, *program.captured]
    want = whole.call(arguments)
    monkeypatch.setattr(outlined, "LONG", 0)
    monkeypatch.setattr(outlined, "LEAST", 5)
    apart = Executable(program)
    for a, b in zip(apart.call(arguments), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    defined, kernels = ("\n".join(e._compiled[0].parts) for e in (apart, whole))
    assert defined.count("noinline") > kernels.count("noinline") + 1


def compiled(f: Any, x: Any) -> Executable:
    program = trace(f)(x)
    code = Executable(program)
    code.call([x, *program.captured])
    return code


@pytest.mark.optimised
def test_kernels_with_loops_stay_functions() -> None:
    """A kernel without loops is inlined, and so is the core."""
    for x, kept in ((np.ones(1000), ["kernel0"]), (np.array(1.0), [])):
        code = compiled(lambda x: np.sin(x) * 2.0, x)
        assert re.findall(r'^define [^@]*@"?(kernel\d+|core)', code.llvm(), re.M) == kept


@pytest.mark.optimised
def test_a_kernel_with_memory_of_its_own_is_simplified_twice() -> None:
    """Only its caller stays a function, in which that memory has become registers."""

    def f(x: Any) -> Any:
        def step(carry: Any, y: Any) -> Any:
            return np.array([carry[1], carry[0] * y]), carry[1]

        return autojit.scan(step, np.array([1.0, 2.0]), x)[1]

    code = compiled(f, np.linspace(0.5, 1.5, 50))
    written = "\n".join(code._compiled[0].parts)
    assert "alloca" in written
    assert re.search(r'@"kernel0_again"\(.*\) noinline', written)
    assert not re.search(r'@"kernel0"\(.*\) noinline', written)
    kept = re.search(r"^define [^\n]*kernel0_again.*?^}", code.llvm(), re.M | re.S)
    assert kept is not None
    assert "alloca" not in kept[0]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_what_goes_wrong_in_a_part_is_raised(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    before = threading.active_count()
    good = "define i64 @f() {\n  ret i64 1\n}\n"
    with pytest.raises(RuntimeError, match="parsing"):
        engine.Compiled([good, good.replace("f", "g"), "define nonsense", good])
    assert threading.active_count() == before


def test_without_threads_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    parts = [f"define i64 @f{n}() {{\n  ret i64 {n}\n}}\n" for n in range(4)]
    compiled = engine.Compiled(parts)
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(compiled.address("f3"))() == 3


def test_object_files_in_one_piece() -> None:
    objects = [b"", b"a", b"bc" * 100]
    packed = engine.pack(objects)
    assert engine.unpack(packed) == objects
    for damaged in (packed[:-1], packed + b"\0", packed[3:]):
        with pytest.raises(ValueError, match="not object code"):
            engine.unpack(damaged)


@pytest.mark.slow
def test_several_threads_compile_at_once() -> None:
    """Each waits for the previous one: results are right, and there is no deadlock."""
    shapes = [(2, 3), (3, 5), (4, 7), (5, 2)]
    results: dict[tuple[int, int], Any] = {}

    def work(shape: tuple[int, int]) -> None:
        x = np.linspace(0.1, 0.9, shape[0] * shape[1]).reshape(shape)
        results[shape] = jit(grad(many_kernels))(x), grad(many_kernels)(x)

    threads = [threading.Thread(target=work, args=(shape,)) for shape in shapes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for shape in shapes:
        np.testing.assert_allclose(*results[shape], rtol=1e-9, atol=1e-12)
