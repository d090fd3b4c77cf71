"""The text of rewritten functions, construct by construct."""

from __future__ import annotations

import ast
import linecache
from types import CodeType
from typing import Any

import pytest

from autojit.capture.rewriting import PlainRuntime, twin_of, twins


def rewritten(body: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The body of the twin of a function of a, b, i, x, y."""
    lines = [f"    {line}" for line in body.strip().splitlines()]
    text = "\n".join(["def f(a, b, i, x, y):", *lines]) + "\n"
    name = f"<rewritten {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile("import numpy as np\n", "<numpy>", "exec"), space)
    exec(compile(text, name, "exec"), space)
    texts = []
    compile_tree = twins.compiled

    def show(node: Any, *rest: Any) -> CodeType:
        texts.append(ast.unparse(node.body))
        return compile_tree(node, *rest)

    monkeypatch.setattr(twins, "compiled", show)
    twin_of(space["f"], PlainRuntime)
    (found,) = texts
    return found.replace("__autojit__.", "")


EXPRESSIONS = [
    ("a and b and i", "and_(a, lambda: b, lambda: i)"),
    ("a or not b", "or_(a, lambda: not_(b))"),
    ("x if a > 0 else y", "choose(0, a > 0, lambda: x, lambda: y)"),
    ("min(x) if a is None else b", "choose(0, is_(a, None), lambda: call(min, x), lambda: b)"),
    ("0 < a < b", "and_(0 < a, lambda: ordered(lt, a, b))"),
    ("0 < a + 1 < b", "and_(0 < (__aj_t_1 := (a + 1)), lambda: ordered(lt, __aj_t_1, b))"),
    ("a not in b", "not_(in_(a, b))"),
    ("len(x, *a, key=b, **y)", "call(len, x, *whole(a), key=b, **whole(y))"),
    ("np.sum(x) + np.linalg.norm(y) + len(x)", "np.sum(x) + np.linalg.norm(y) + call(len, x)"),
    ("x[i] + x[0] + x[-1]", "item(x, i) + item(x, 0) + item(x, -1)"),
    ("x[a:b, ..., None]", "item(x, (slice(a, b, None), ..., None))"),
    ("not (a and (x := b))", "not_(a and (x := b))"),
    (
        "[x[k] for k in y]",
        "elements(0, lambda __aj_iterable: [item(x, k) for k in __aj_iterable], y, True, False)",
    ),
    ("a == b and a != 2", "and_(equal(a, b), lambda: a != 2)"),
    ("lambda z: z[i]", "lambda z: item(z, i)"),
]


@pytest.mark.parametrize(("before", "after"), EXPRESSIONS)
def test_expressions(before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rewritten(f"return {before}", monkeypatch) == f"return {after}"


STATEMENTS = [
    ("x[i] = a", "set_item(x, i, a)"),
    ("x[i] += a", "update_item(x, i, 'iadd', lambda: a)"),
    ("x[y[0]] = len(a)", "__aj_u_1 = own(call(len, a))\nset_item(x, item(y, 0), __aj_u_1)"),
    (
        "x[0], a = a, x[i]",
        "__aj_u_1, __aj_u_2 = (a, own(item(x, i)))\nset_item(x, 0, __aj_u_1)\na = __aj_u_2",
    ),
    ("assert a < b, len(x)", "assert_(0, ordered(lt, a, b), lambda: call(len, x))"),
    ("del a\nx[i] = 1", "del a\nset_item(x, i, 1)"),
]


@pytest.mark.parametrize(("before", "after"), STATEMENTS)
def test_statements(before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rewritten(before, monkeypatch) == after


def test_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rewritten("if a > 0:\n    b = x\nreturn b", monkeypatch)
    assert found == (
        "def __aj_then_0():\n    nonlocal b\n    b = x\n\n"
        "def __aj_put_0(__aj_values):\n    nonlocal b\n    b, = __aj_values\n"
        "branch(0, a > 0, __aj_then_0, None, lambda: (b,), __aj_put_0, lambda: (a, x))\n"
        "return b"
    )


def test_return_in_a_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rewritten("if a > 0:\n    return x\nreturn y", monkeypatch)
    assert "__aj_result = unbound" in found
    assert "def __aj_else_0():\n    nonlocal __aj_result\n    __aj_result = y" in found
    assert found.endswith("return result(__aj_result, False)")


def test_break(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rewritten(
        "while a:\n    if b:\n        break\n    a -= 1\nelse:\n    x = 1", monkeypatch
    )
    assert "lambda: and_(not_(__aj_break_1), lambda: not_(not_(a)))" in found
    assert "branch(2, not_(__aj_break_1)," in found


def test_name_that_may_be_unbound(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rewritten("if a:\n    z = 1\nreturn z", monkeypatch)
    assert found.startswith("z = unbound")
    assert found.endswith("return bound(z, 'z')")
