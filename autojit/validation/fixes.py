"""Suggested fixes for operations that produce NaN or infinities, using the user's own line."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable, Iterator

from autojit.ir.core.program import Source

#: Explanations of the double ``where``: for a derivative, and for a value.
GRADIENT = (
    "A single np.where does not help: both of its branches are computed, and 0 times an infinite "
    "derivative is NaN. Pass the operation a safe argument in both branches"
)
VALUE = (
    "Choose a value for these arguments. The inner np.where keeps them away from the operation, "
    "so that the gradient is right too"
)

#: Operations, and a condition under which they have finite values and derivatives.
_DOMAINS = {
    "sqrt": "{x} > 0", "log": "{x} > 0", "log2": "{x} > 0", "log10": "{x} > 0",
    "log1p": "{x} > -1", "arcsin": "np.abs({x}) < 1", "arccos": "np.abs({x}) < 1",
    "arctanh": "np.abs({x}) < 1", "arccosh": "{x} > 1", "cbrt": "{x} != 0",
}  # fmt: skip
_SAFE = {"log1p": "0.0", "arcsin": "0.0", "arccos": "0.0", "arctanh": "0.0", "arccosh": "2.0"}
_GROWING = {"exp", "exp2", "expm1", "sinh", "cosh"}


def fix(op: str, source: Source | None, *, derivative: bool) -> str:
    """A suggestion with code for an operation on a line, or for its derivative.

    The empty string if there is none.
    """
    made = _MAKERS.get(op)
    if op in _GROWING:
        return _smaller(op, list(_expressions(source)))
    if op in _DOMAINS:
        made = _guarded
    if made is None:
        return ""
    why = GRADIENT if derivative else VALUE
    return f"{why}:\n{made(op, list(_expressions(source)))}"


def _expressions(source: Source | None) -> Iterator[ast.AST]:
    """The expressions of the user's line, if the line can be parsed by itself."""
    line = linecache.getline(source.file, source.line).strip() if source is not None else ""
    for text in (
        line,
        f"{line}\n    pass",
        line.removeprefix("elif").removesuffix(":"),
        f"({line}",
    ):
        try:
            yield from ast.walk(ast.parse(text))
        except (SyntaxError, ValueError):
            continue
        return


def _call(names: set[str], found: list[ast.AST]) -> ast.Call | None:
    """The first call of a function with one of these names."""
    for node in found:
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in names:
                return node
    return None


def _block(*lines: str) -> str:
    return textwrap.indent("\n".join(lines), "    ")


def _where(test: str, argument: str, safe: str, function: Callable[[str], str]) -> str:
    """The code of a double ``where``."""
    return _block(
        f"fine = {test}",
        f"safe = np.where(fine, {argument}, {safe})",
        f"np.where(fine, {function('safe')}, 0.0)",
    )


def _guarded(op: str, found: list[ast.AST]) -> str:
    norm = _call({"norm"}, found) if op == "sqrt" else None
    if norm is not None and len(norm.args) == 1 and not norm.keywords:
        return _norm(norm)
    call = _call({op}, found)
    x, shown, name = "x", "x", f"np.{op}"
    if call is not None:
        x, shown, name = ast.unparse(call.args[0]), _factor(call.args[0]), ast.unparse(call.func)
    test = _DOMAINS[op].format(x=x if "(" in _DOMAINS[op] else shown)
    return _where(test, x, _SAFE.get(op, "1.0"), lambda safe: f"{name}({safe})")


def _norm(call: ast.Call) -> str:
    x = ast.unparse(call.args[0])
    name = ast.unparse(call.func)
    return _where(f"np.any({_factor(call.args[0])} != 0)", x, "1.0", lambda safe: f"{name}({safe})")


def _quotient(op: str, found: list[ast.AST]) -> str:
    x, y = "x", "y"
    for node in found:
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            left = node.left if isinstance(node, ast.BinOp) else node.target
            right = node.right if isinstance(node, ast.BinOp) else node.value
            x, y = (_factor(side) for side in (left, right))
            break
    return _where(f"{y} != 0", y, "1.0", lambda safe: f"{x} / {safe}")


def _power(op: str, found: list[ast.AST]) -> str:
    x, p = "x", "p"
    for node in found:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            x, p = _factor(node.left), _factor(node.right)
            break
    return _where(f"{x} > 0", x, "1.0", lambda safe: f"{safe} ** {p}")


def _factor(node: ast.AST) -> str:
    text = ast.unparse(node)
    return (
        f"({text})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp | ast.Compare) else text
    )


def _smaller(op: str, found: list[ast.AST]) -> str:
    call = _call({op}, found)
    x = ast.unparse(call.args[0]) if call is not None else "x"
    name = ast.unparse(call.func) if call is not None else f"np.{op}"
    return (
        f"{op} overflows above about 710 in float64, and 89 in float32. Shift the argument first "
        "(subtracting the largest element does not change a softmax), or clip it:\n"
        + _block(f"{name}({x} - np.max({x}))", f"{name}(np.minimum({x}, 80.0))")
    )


_MAKERS: dict[str, Callable[[str, list[ast.AST]], str]] = {
    "div": _quotient,
    "power": _power,
    "integer_power": _power,
}
