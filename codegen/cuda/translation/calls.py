"""Calls: casts, mathematical functions, CUDA's own functions, and device functions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from autojit.codegen.cuda.device_program.nodes import WIDEST

from . import arithmetic
from .body import Body
from .expressions import Expressions
from .kinds import (
    LLVM,
    OF_NUMPY,
    STORED,
    Array,
    Value,
    bits,
    constant,
    is_float,
    is_integer,
    refused,
)

#: Functions of libdevice that only rename bits.
_BITS = {"float_as_int": "i32", "int_as_float": "f32", "double_as_longlong": "i64"}


#: The device functions: ``called(body, name, arguments)``.
Called = Callable[[Body, str, "list[Value | Array]"], "Value | None"]


class Calls(Expressions):
    """Translates the expressions of a function, calls too."""

    def __init__(self, body: Body, called: Called) -> None:
        super().__init__(body)
        self.called = called

    def call(self, e: ast.Call) -> Value:
        found = self.effect(e)
        if found is None:
            raise refused(f"{ast.unparse(e)} has no value")
        return found

    def effect(self, e: ast.Call) -> Value | None:
        """The value of a call; None if it has none."""
        match e.func:
            case ast.Name("abs"):
                return _absolute(self, e.args[0])
            case ast.Name("int"):
                return self.as_kind(e.args[0], "i64")
            case ast.Name(name):
                return self.called(self.body, name, [self.argument(a) for a in e.args])
            case ast.Attribute(ast.Name("np"), name) if name in OF_NUMPY:
                return self.as_kind(e.args[0], OF_NUMPY[name])
            case ast.Attribute(ast.Name("math"), name):
                return _mathematical(self, name, e.args)
            case ast.Attribute(ast.Name("libdevice"), name):
                return _of_libdevice(self, name, e.args)
        function = _OF_CUDA.get(ast.unparse(e.func))
        if function is None:
            raise refused(ast.unparse(e))
        return function(self, e.args)


def _mathematical(of: Expressions, name: str, arguments: list[ast.expr]) -> Value:
    """A function of Python's ``math``, by libdevice's of the same name."""
    values = of.floats(arguments)
    kind = values[0].kind
    return of.body.call(kind, f"__nv_{name}{'f' if kind == 'f32' else ''}", values)


def _of_libdevice(of: Expressions, name: str, arguments: list[ast.expr]) -> Value:
    """A function of libdevice by its name, which ends in f for float32."""
    if name in _BITS:
        x, kind = of.value(arguments[0]), _BITS[name]
        return of.body.define(kind, f"bitcast {x.typed} to {LLVM[kind]}")
    values = of.floats(arguments)
    if name.endswith("f") != (values[0].kind == "f32"):
        raise refused(f"{name} of {values[0].kind}")
    return of.body.call(values[0].kind, f"__nv_{name}", values)


def _absolute(of: Expressions, e: ast.expr) -> Value:
    x = of.value(e)
    if is_float(x.kind):
        return of.body.call(x.kind, "__nv_fabs" + ("f" if x.kind == "f32" else ""), [x])
    wide = arithmetic.convert(of.body, x, "i64")
    test = arithmetic.compare(of.body, "<", wide, constant("i64", 0))
    return arithmetic.select(of.body, test, arithmetic.negative(of.body, wide), wide)


# -- CUDA's functions -----------------------------------------------------------


def _sync_threads(of: Expressions, arguments: list[ast.expr]) -> None:
    of.body.waits = True
    of.body.do("llvm.nvvm.barrier0")


def _sync_warp(of: Expressions, arguments: list[ast.expr]) -> None:
    of.body.waits = True
    of.body.do("llvm.nvvm.bar.warp.sync", [of.as_kind(arguments[0], "u32")])


def _fence(of: Expressions, arguments: list[ast.expr]) -> None:
    of.body.do("llvm.nvvm.membar.gl")


def _exchanged(of: Expressions, arguments: list[ast.expr]) -> Value:
    """``shfl_xor_sync(mask, value, distance)``; 64 bits are exchanged in two halves."""
    body, value = of.body, of.value(arguments[1])
    mask, distance = (of.as_kind(arguments[n], "u32") for n in (0, 2))
    body.waits = True
    if bits(value.kind) not in (32, 64):
        raise refused(f"an exchange of {value.kind}")
    kind = f"u{bits(value.kind)}"
    if is_float(value.kind):
        whole = body.define(kind, f"bitcast {value.typed} to {LLVM[kind]}")
    else:
        whole = Value(kind, value.text)
    if kind == "u32":
        found = _of_lane(body, mask, whole, distance)
    else:
        high = arithmetic.binary(body, ">>", whole, constant("i64", 32))
        parts = (
            _of_lane(body, mask, arithmetic.convert(body, x, "u32"), distance)
            for x in (whole, high)
        )
        low, top = (arithmetic.convert(body, part, "u64") for part in parts)
        top = arithmetic.binary(body, "<<", top, constant("i64", 32))
        found = arithmetic.binary(body, "|", top, low)
    if is_float(value.kind):
        return body.define(value.kind, f"bitcast {found.typed} to {LLVM[value.kind]}")
    return Value(value.kind, found.text)


def _of_lane(body: Body, mask: Value, x: Value, distance: Value) -> Value:
    """32 bits of the lane whose number differs in the bits of the distance (mode 3, PTX ISA)."""
    name = "llvm.nvvm.shfl.sync.i32"
    body.declarations.function(name, "{ i32, i1 }", ["i32"] * 5)
    arguments = [mask, constant("i32", 3), x, distance, constant("i32", 31)]
    pair = body.define("u32", body.calling("{ i32, i1 }", name, arguments))
    return body.define("u32", f"extractvalue {{ i32, i1 }} {pair.text}, 0")


def _added(of: Expressions, arguments: list[ast.expr]) -> Value:
    """``atomic.add(array, index, value)``: the value before."""
    array, place, x = _updated(of, arguments)
    llvm = LLVM[array.kind]
    if not is_float(array.kind):
        return of.body.define(array.kind, f"atomicrmw add {llvm}* {place}, {x.typed} monotonic")
    name = f"llvm.nvvm.atomic.load.add.{array.kind}.p0{array.kind}"
    of.body.declarations.function(name, llvm, [f"{llvm}*", llvm])
    return of.body.define(array.kind, f"call {llvm} @{name}({llvm}* {place}, {x.typed})")


def _raised(of: Expressions, arguments: list[ast.expr]) -> Value:
    """``atomic.max(array, index, value)`` of numbers that are not NaN: the value before."""
    array, place, x = _updated(of, arguments)
    llvm = LLVM[array.kind]
    if not is_float(array.kind):
        word = "max" if array.kind[0] == "i" else "umax"
        return of.body.define(array.kind, f"atomicrmw {word} {llvm}* {place}, {x.typed} monotonic")
    name = f"raised_{array.kind}"
    of.body.declarations.lines[name] = _RAISED.format(name=name, T=llvm, I=f"i{bits(array.kind)}")
    return of.body.define(array.kind, f"call {llvm} @{name}({llvm}* {place}, {x.typed})")


def _updated(of: Expressions, arguments: list[ast.expr]) -> tuple[Array, str, Value]:
    array = of.array(arguments[0])
    if bits(array.kind) < 32 or not (is_float(array.kind) or is_integer(array.kind)):
        raise refused(f"an atomic update of {array.kind}")
    return array, of.place(array, arguments[1]), of.as_kind(arguments[2], array.kind)


#: Compare and swap until no larger number is there.
_RAISED = """define internal {T} @{name}({T}* %place, {T} %x) alwaysinline {{
start:
  %first = load volatile {T}, {T}* %place
  %bits = bitcast {T}* %place to {I}*
  %new = bitcast {T} %x to {I}
  br label %test
test:
  %before = phi {T} [ %first, %start ], [ %found, %again ]
  %is_less = fcmp olt {T} %before, %x
  br i1 %is_less, label %again, label %end
again:
  %old = bitcast {T} %before to {I}
  %pair = cmpxchg volatile {I}* %bits, {I} %old, {I} %new monotonic monotonic
  %there = extractvalue {{ {I}, i1 }} %pair, 0
  %done = extractvalue {{ {I}, i1 }} %pair, 1
  %found = bitcast {I} %there to {T}
  br i1 %done, label %end, label %test
end:
  ret {T} %before
}}"""

_OF_CUDA: dict[str, Callable[[Expressions, list[ast.expr]], Value | None]] = {
    "cuda.atomic.add": _added,
    "cuda.atomic.max": _raised,
    "cuda.shfl_xor_sync": _exchanged,
    "cuda.syncthreads": _sync_threads,
    "cuda.syncwarp": _sync_warp,
    "cuda.threadfence": _fence,
}


def array(of: Expressions, name: str, e: ast.Call) -> Array | None:
    """The array that ``cuda.shared.array(n, dtype)`` or ``cuda.local.array`` makes; else None."""
    where = ast.unparse(e.func)
    if where not in ("cuda.shared.array", "cuda.local.array"):
        return None
    match e.args:
        case [ast.Constant(int(count)), ast.Attribute(ast.Name("np"), dtype)]:
            kind = OF_NUMPY[dtype]
        case _:
            raise refused(ast.unparse(e))
    body, stored, size = of.body, STORED[kind], constant("i64", count)
    pointer = f"%{body.fresh(name + '.')}"
    whole = f"[{count} x {stored}]"
    if where == "cuda.local.array":
        slot = body.slot(name, whole)
        body.first.append(f"  {pointer} = bitcast {whole}* {slot} to {stored}*")
    else:
        width = max(1, bits(kind) // 8)
        # Neighbours in it are accessed at once.
        aligned = WIDEST if count * width >= WIDEST else width
        shared = body.declarations.shared(stored, count, aligned)
        first = f"getelementptr inbounds ({whole}, {whole} addrspace(3)* @{shared}, i64 0, i64 0)"
        body.first.append(
            f"  {pointer} = addrspacecast {stored} addrspace(3)* {first} to {stored}*"
        )
    return Array(kind, pointer, size)
