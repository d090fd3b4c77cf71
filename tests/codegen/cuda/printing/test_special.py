"""Functions of scipy.special on a GPU: NVIDIA's libdevice, run on the CPU, compared with SciPy."""

from __future__ import annotations

import ctypes
import math
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.special

from autojit import grad, trace
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.printing.helpers import Helpers
from autojit.codegen.cuda.printing.special import TEXTS
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.errors import TargetError
from tests.codegen.cuda.running import check, mapped

CALLED = ("erfcinv", "erfcx", "erfinv", "exp10", "lgamma", "normcdfinv", "rint", "tgamma")
#: The GPU instructions that libdevice uses, as LLVM functions. libdevice refines approximate
#: reciprocals itself.
INSTRUCTIONS = """
declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fabs.f64(double)
declare float @llvm.fabs.f32(float)
declare double @llvm.floor.f64(double)
declare double @llvm.trunc.f64(double)
declare double @llvm.rint.f64(double)
declare double @llvm.sqrt.f64(double)
declare i64 @llvm.ctlz.i64(i64, i1)
define i32 @__nvvm_reflect(ptr %x) {
  ret i32 0
}
define double @nvvm.add.rn.d(double %x, double %y) {
  %r = fadd double %x, %y
  ret double %r
}
define double @nvvm.mul.rn.d(double %x, double %y) {
  %r = fmul double %x, %y
  ret double %r
}
define double @nvvm.fma.rn.d(double %x, double %y, double %z) {
  %r = call double @llvm.fma.f64(double %x, double %y, double %z)
  ret double %r
}
define double @nvvm.rcp.approx.ftz.d(double %x) {
  %r = fdiv double 1.0, %x
  ret double %r
}
define double @nvvm.rsqrt.approx.d(double %x) {
  %s = call double @llvm.sqrt.f64(double %x)
  %r = fdiv double 1.0, %s
  ret double %r
}
define float @nvvm.fabs.f(float %x) {
  %r = call float @llvm.fabs.f32(float %x)
  ret float %r
}
define float @nvvm.fabs.ftz.f(float %x) {
  %r = call float @llvm.fabs.f32(float %x)
  ret float %r
}
define i32 @nvvm.d2i.hi(double %x) {
  %b = bitcast double %x to i64
  %s = lshr i64 %b, 32
  %r = trunc i64 %s to i32
  ret i32 %r
}
define i32 @nvvm.d2i.lo(double %x) {
  %b = bitcast double %x to i64
  %r = trunc i64 %b to i32
  ret i32 %r
}
define double @nvvm.lohi.i2d(i32 %low, i32 %high) {
  %l = zext i32 %low to i64
  %h = zext i32 %high to i64
  %s = shl i64 %h, 32
  %b = or i64 %l, %s
  %r = bitcast i64 %b to double
  ret double %r
}
define i32 @nvvm.d2i.rn(double %x) {
  %n = call double @llvm.rint.f64(double %x)
  %r = fptosi double %n to i32
  ret i32 %r
}
define { i64, i64 } @nvvm.mad(i64 %a, i64 %b, i64 %c) {
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %z = zext i64 %c to i128
  %p = mul i128 %x, %y
  %s = add i128 %p, %z
  %low = trunc i128 %s to i64
  %h = lshr i128 %s, 64
  %high = trunc i128 %h to i64
  %first = insertvalue { i64, i64 } undef, i64 %low, 0
  %r = insertvalue { i64, i64 } %first, i64 %high, 1
  ret { i64, i64 } %r
}
define i64 @nvvm.d2ll.rz(double %x) {
  %r = fptosi double %x to i64
  ret i64 %r
}
"""
for _name, _llvm in {"fabs": "fabs", "floor": "floor", "round": "rint", "sqrt.rn": "sqrt",
                     "trunc": "trunc"}.items():  # fmt: skip
    INSTRUCTIONS += f"""
define double @nvvm.{_name}.d(double %x) {{
  %r = call double @llvm.{_llvm}.f64(double %x)
  ret double %r
}}
"""
for _name in ("add", "sub"):  # for 128-bit numbers
    INSTRUCTIONS += f"""
define {{ i64, i64 }} @nvvm.{_name}(i64 %a, i64 %b, i64 %c, i64 %d) {{
  %a1 = zext i64 %a to i128
  %b1 = zext i64 %b to i128
  %c1 = zext i64 %c to i128
  %d1 = zext i64 %d to i128
  %b2 = shl i128 %b1, 64
  %d2 = shl i128 %d1, 64
  %x = or i128 %a1, %b2
  %y = or i128 %c1, %d2
  %s = {_name} i128 %x, %y
  %low = trunc i128 %s to i64
  %h = lshr i128 %s, 64
  %high = trunc i128 %h to i64
  %first = insertvalue {{ i64, i64 }} undef, i64 %low, 0
  %r = insertvalue {{ i64, i64 }} %first, i64 %high, 1
  ret {{ i64, i64 }} %r
}}
"""


@cache
def libdevice() -> SimpleNamespace:
    """The functions of libdevice as code for this processor."""
    nvidia = pytest.importorskip("nvidia", reason='pip install "autojit[cuda]"')
    found = [f for p in nvidia.__path__ for f in Path(p).rglob("libdevice*.bc")]
    if not found:
        pytest.skip('no libdevice: pip install "autojit[cuda]"')
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = str(llvm.parse_bitcode(found[0].read_bytes()))
    functions = {
        re.search(r"@([\w.]+)\(", each)[1]: re.sub(r"\) .*\{$", ") {", each, count=1, flags=re.M)  # type: ignore[index]
        for each in re.findall(r"^define .*?^}", text, re.S | re.M)
    }
    needed: dict[str, str] = {}
    left = [f"__nv_{name}" for name in CALLED]
    while left:
        name = left.pop()
        if name in functions and name not in needed:
            needed[name] = functions[name]
            left += re.findall(r"call [^@]*@([\w.]+)\(", functions[name])
    others = re.findall(r"^[@%].* = .*$", text, re.M)
    made = "\n".join([*others, *needed.values()]).replace("@llvm.nvvm.", "@nvvm.")
    for new, old in (("f64", "d"), ("f32", "f")):  # newer versions of LLVM rename them
        made = re.sub(rf"(@nvvm\.fabs(?:\.ftz)?)\.{new}\b", rf"\1.{old}", made)
    made = re.sub(r"(?<=\)) #\d+|, ![\w.]+ !\d+", "", made)
    made = re.sub(r'asm "rsqrt\.approx\.ftz\.f64 [^"]*", "=d,d"', "@nvvm.rsqrt.approx.d", made)
    for word, name in (("mad.lo", "mad"), ("add", "add"), ("sub", "sub")):
        wide = rf'asm "\{{[^"]*09{re.escape(word)}\.cc\.u32[^"]*", "[^"]*"'
        made = re.sub(wide, f"@nvvm.{name}", made)
    assert " asm " not in made
    module = llvm.parse_assembly(made.replace("define linkonce_odr", "define") + INSTRUCTIONS)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    result = {n: kind(engine.get_function_address(f"__nv_{n}")) for n in CALLED}
    return SimpleNamespace(**result, owner=engine)


def on_the_device(function: str) -> Any:
    """A function as printed for the device, with libdevice's functions."""
    helpers = Helpers()
    name = helpers.special(function)
    text = helpers.texts[name].removeprefix("@cuda.jit(device=True)\n")
    names: dict[str, Any] = {"libdevice": libdevice(), "math": math}
    exec(text, names)
    return names[name]


SMALL = [-0.0, 0.0, -1e-9, 1e-300, 1e-9, 0.3, 0.5, 1.0, 1.25, 2.0]
LARGE = [9.75, 10.0, 26.5, 100.0, 171.0, 172.0, 1e6, np.inf, np.nan]
EDGES = [-np.inf, -171.5, -20.25, -3.0, -2.0, -1.5, -1.0, -0.75, *SMALL, *LARGE]


@pytest.mark.parametrize("function", TEXTS)
def test_values_are_scipys(function: str) -> None:
    """Also at the ends of the range, at infinity, at both zeros and NaN."""
    x = np.concatenate([EDGES, np.linspace(-8, 8, 97) + 0.013, np.linspace(0.001, 1.999, 60)])
    if function == "gamma":  # SciPy's own value is inaccurate below this
        x = x[~((x < -100) & np.isfinite(x))]
    f = on_the_device(function)
    found = np.array([f(float(each)) for each in x])
    want = getattr(scipy.special, function)(x)
    np.testing.assert_allclose(found, want, 3e-13, 2e-15, err_msg=function)
    zeros = want == 0
    if function not in ("erfcinv", "ndtri", "exp10", "erfcx"):
        assert (np.signbit(found) == np.signbit(want))[~zeros & ~np.isnan(want)].all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_programs_with_them_and_their_gradients(dtype: Any) -> None:
    x = np.linspace(0.1, 0.9, 20).astype(dtype)
    for name in ("gammaln", "gamma", "erfinv", "erfcx", "ndtri"):
        f = getattr(scipy.special, name)
        check(trace(grad(lambda x, f=f: np.sum(f(x))))(x), [x])
        text = print_device_source(mapped(trace(f)(x), Machine()), Machine()).text
        assert f"special_{name}(" in text


def test_others_are_refused_by_name() -> None:
    with pytest.raises(TargetError, match=r"scipy.special.ellipk cannot be compiled for CUDA"):
        print_device_source(mapped(trace(scipy.special.ellipk)(0.5)), Machine())
