"""The displays of functions and programs in notebooks and terminals."""

from __future__ import annotations

import inspect
import linecache
import pydoc
import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import autojit
from autojit import checkpoint, grad, hvp, jacfwd, jit, trace, value_and_grad, vmap
from autojit.notebook.html.blocks import card, folded, highlighted, page, table
from autojit.notebook.html.style import style_sheet

W, X = np.ones(3), np.ones((4, 3))


def loss(w: np.ndarray, x: np.ndarray, *, rate: float = 0.5) -> float:
    """The loss <of> a model."""
    return np.sum((x @ w) ** 2) * rate


def read(text: str) -> str:
    """The words of a piece of HTML, which is well formed."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        if element.tag == "style":
            element.text = ""
        if element.tag in ("td", "th", "summary", "div"):
            element.tail = f" {element.tail or ''}"
    return " ".join("".join(root.itertext()).split())


# -- functions ---------------------------------------------------------------------------


def test_a_compiled_function_says_what_it_did() -> None:
    f = jit(grad(loss, argnums=1))
    assert repr(f) == "<jit(grad(loss, argnums=1))(w, x, *, rate=0.5) on cpu: not traced yet>"
    assert "none yet: the first call traces and compiles it" in read(f._repr_html_())
    f(W, X)
    assert re.search(r"on cpu: traced once;.* (compiled|loaded from disk) in \d", repr(f))
    f(W, X[:2])
    f(W, X[:2])
    cause = "argument 1 was f64[4,3], is f64[2,3]"
    assert cause == f.cache_info().last_retrace
    assert f"traced 2 times (last: {cause})" in repr(f)
    words = read(f._repr_html_())
    assert f"last retrace {cause}" in words
    assert "jit(grad(loss, argnums=1)) on cpu" in words
    assert "takes (w: np.ndarray, x: np.ndarray, *, rate: float = 0.5) -> np.ndarray" in words
    cost = f.lower(W, X[:2]).cost()
    assert f"{cost['flops']:,} operations on numbers" in words
    assert f"{cost['loops']} loop" in words
    assert "program loss(%0: f64[3], %1: f64[2,3])" in words
    rows = ElementTree.fromstring(f._repr_html_()).iter("tr")
    causes = [cell.text for row in rows for cell in row if cell.text and "is f64" in cell.text]
    assert causes == [cause]  # in the table of signatures; the first trace has none


def test_calls_stay_on_the_native_path_while_they_are_shown() -> None:
    f = jit(lambda x: x * 2.0)
    f(X)
    native = f._fast
    hits = f.cache_info().hits
    f._repr_html_()
    repr(f)
    f(X)
    assert f._fast is native
    assert f.cache_info().hits == hits


def test_a_transformed_function_says_what_it_is() -> None:
    g = value_and_grad(loss, has_aux=False)
    assert repr(g) == "<value_and_grad(loss)(w, x, *, rate=0.5)>"
    words = read(g._repr_html_())
    assert "value_and_grad(loss)" in words
    assert "The loss <of> a model." in words
    assert "each call traces the function again" in words
    assert repr(vmap(grad(loss), in_axes=(None, 0))) == (
        "<vmap(grad(loss), in_axes=(None, 0))(w, x, *, rate=0.5)>"
    )
    assert repr(jit(np.linalg.norm)).startswith("<jit(norm)(x, ord=None")


SIGNATURES = [
    (grad(loss), "(w: 'np.ndarray', x: 'np.ndarray', *, rate: 'float' = 0.5) -> 'np.ndarray'"),
    (grad(loss, argnums=(0, 1)), "-> 'tuple[np.ndarray, np.ndarray]'"),
    (value_and_grad(loss), "-> 'tuple[float, np.ndarray]'"),
    (value_and_grad(loss, argnums=(1,)), "-> 'tuple[float, tuple[np.ndarray]]'"),
    (grad(loss, has_aux=True), "rate: 'float' = 0.5)"),
    (jacfwd(loss), "rate: 'float' = 0.5)"),
    (vmap(loss), "(w, x, *, rate=0.5)"),
    (hvp(loss), "(x, v, /)"),
    (checkpoint(loss), "-> 'float'"),
    (jit(grad(loss)), "-> 'np.ndarray'"),
    (jit(loss), "-> 'float'"),
    (grad(lambda w, x: 0.0), "(w, x)"),
]


@pytest.mark.parametrize(("f", "words"), SIGNATURES, ids=[repr(f) for f, _ in SIGNATURES])
def test_signatures_say_what_the_function_is_now(f: Any, words: str) -> None:
    assert str(inspect.signature(f)).endswith(words)
    inspect.signature(f).bind(1, 2)


def test_docstrings_and_help_say_what_the_function_is_now() -> None:
    g = grad(loss)
    assert (
        g.__doc__
        == "grad(loss). The gradient of a scalar function.\n\nloss: The loss <of> a model."
    )
    assert g.__name__ == "loss"
    assert "return" not in g.__annotations__
    text = pydoc.render_doc(jit(g), renderer=pydoc.plaintext)
    assert "grad(loss). The gradient of a scalar function." in text
    assert "-> 'float'" not in text
    assert "-> 'np.ndarray'" in text
    assert jit(loss).__doc__ == loss.__doc__


# -- programs ----------------------------------------------------------------------------


def test_a_program_is_shown_with_its_text_and_a_picture() -> None:
    program = trace(lambda x: np.sum(np.sin(x) * 2.0))(X)
    text = program._repr_html_()
    words = read(text)
    assert "1 result" not in words
    for line in program.text(sources=True).splitlines():
        assert " ".join(line.split()) in words
    assert "<svg" in text
    assert set(program._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert set(program._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert set(jit(loss)._repr_mimebundle_(exclude={"text/plain"})) == {"text/html"}


def test_long_programs_are_cut_and_not_drawn() -> None:
    lines = [f"  %{k}: f64[] = {'sin' if k % 3 else 'cos'} %{k - 1}" for k in range(1, 600)]
    body = "\n".join(lines)
    program = autojit.parse(f"program long(%0: f64[]) {{\n{body}\n  return %599\n}}")
    text = program._repr_html_()
    assert "<svg" not in text
    assert "202 lines more" in text
    assert 'autojit.drawing.picture(p, format="html")' in read(text)


def test_lowered_code_is_shown_with_its_cost_and_its_loops() -> None:
    lowered = jit(loss).lower(W, X)
    assert re.fullmatch(r"<lowered loss on cpu: \d+ operations>", repr(lowered))
    words = read(lowered._repr_html_())
    assert f"{lowered.cost()['loops']} loop" in words
    assert "kernel k0" in words
    assert "program loss" in words


def test_texts_are_shown_as_they_are_printed() -> None:
    lowered = jit(loss).lower(W, X)
    for text in (
        lowered.text("loops"), autojit.source(grad(loss), W, X), jit(loss).explain(W, X).text(),
    ):  # fmt: skip
        pieces = [pre.itertext() for pre in ElementTree.fromstring(text._repr_html_()).iter("pre")]
        assert ["".join(piece).strip() for piece in pieces] == [text.strip()]
        shown: list[str] = []
        text._repr_pretty_(SimpleNamespace(text=shown.append), False)
        assert shown == [text]


class _Compiler:
    """A stand-in for IPython's compiler, which maps files to cells."""

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        return ("Cell", "In[7]") if name == "/tmp/ipykernel_1/5.py" else None


def test_lines_of_cells_are_named_as_in_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    events = SimpleNamespace(register=lambda name, function: None)
    shell = SimpleNamespace(compile=_Compiler(), events=events)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    space: dict[str, Any] = {"np": np}
    cell = "def f(x, y):\n    return np.exp(x) + y\n"
    linecache.cache["/tmp/ipykernel_1/5.py"] = (len(cell), None, cell.splitlines(True), "")
    exec(compile(cell, "/tmp/ipykernel_1/5.py", "exec"), space)
    f = space["f"]
    place = "  Cell In[7], line 2, in f\n    return np.exp(x) + y"
    with pytest.raises(autojit.errors.ShapeError) as caught:
        jit(f)(np.ones(3), np.ones(2))
    assert str(caught.value).endswith(f"\n\n{place}")
    with np.errstate(all="ignore"):
        assert place in autojit.explain_nan(f, np.array([1e3]), -np.inf).text()
    assert "# In[7]:2" in trace(f)(X, 1.0).text(sources=True)
    assert "In[7]:2" in jit(f).explain(X, 1.0).text()
    assert "In[7]:2" in read(autojit.drawing.picture(f, X, 1.0))


# -- building blocks ---------------------------------------------------------------------


def test_blocks_are_escaped_and_well_formed() -> None:
    odd = "<script>alert('&')</script>\x00"
    text = card("title", folded(odd, highlighted(odd), opened=True), table([odd], [[odd], [1.5]]))
    root = ElementTree.fromstring(text)
    assert not list(root.iter("script"))
    assert "".join(root.itertext()).count("<script>alert('&')</script>") == 4
    ElementTree.fromstring(page(odd, "<p>x</p>", script="1 < 2 && 3;").partition("\n")[2])


def test_highlighting_keeps_the_text() -> None:
    text = jit(loss).lower(W, X).text("loops")
    found = ElementTree.fromstring(highlighted(text))
    assert "".join(found.itertext()) == text
    kinds = {e.get("class") for e in found.iter("span")}
    assert {"aj-k", "aj-t", "aj-n"} <= kinds


def test_every_colour_has_a_light_and_a_dark_form() -> None:
    sheet = style_sheet(notebook=True)
    used = set(re.findall(r"var\((--aj-\w+)\)", sheet))
    light, dark = sheet.split("@media", 1)
    for name in used:
        assert f"{name}:" in light
        assert f"{name}:" in dark
    assert sheet.count("{") == sheet.count("}")


def test_what_notebooks_show_is_loaded_when_it_is_shown() -> None:
    code = (
        "import sys, autojit; f = autojit.grad(lambda x: x * x); repr(f); "
        "print([m for m in sys.modules if m.startswith(('autojit.notebook', 'autojit.drawing'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
