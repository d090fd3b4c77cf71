"""Pieces of HTML: each function returns well-formed, escaped text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from html import escape

from .style import page_style, style_sheet

#: Characters that XML does not allow.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TOKENS = re.compile(
    r"(?P<c>#[^\n]*)"
    r"|(?P<v>%\w+)"
    r"|(?P<t>\b(?:bool|[iufc]\d{1,3})\[[^\]\n]*\])"
    r"|(?P<k>\b(?:program|return|loops|kernel|input|output|temp|local|tape|for|in|if|else|while"
    r"|repeat|reduces)\b)"
    r"|(?P<n>(?<![\w.])-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)\b)"
)
#: The coloured tokens of Python source.
PYTHON = re.compile(
    r"(?P<t>(?:\b[rbfuRBFU]{1,2})?(?:\"\"\".*?(?:\"\"\"|$)|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))"
    r"|(?P<c>#[^\n]*)"
    rf"|(?P<k>\b(?:{'|'.join(keyword.kwlist)})\b)"
    r"|(?P<n>(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\b)"
)


def text_of(words: object) -> str:
    """Any text, escaped for HTML and XML.

    >>> text_of("a < b\\x00")
    'a &lt; b'
    """
    return escape(_NO_XML.sub("", str(words)))


def highlighted(source: str) -> str:
    """The text of a program or of loops in ``<pre>``, with colours.

    >>> highlighted("%1: f64[3] = sin %0")[:40]
    '<pre><span class="aj-v">%1</span>: <span'
    """
    return f"<pre>{coloured(source)}</pre>"


def coloured(source: str, tokens: re.Pattern[str] = _TOKENS) -> str:
    """The coloured text without ``<pre>``; the groups of ``tokens`` name what is coloured.

    >>> coloured("return x  # all", PYTHON)
    '<span class="aj-k">return</span> x  <span class="aj-c"># all</span>'
    """
    parts, done = [], 0
    for found in tokens.finditer(source):
        parts.append(text_of(source[done : found.start()]))
        parts.append(f'<span class="aj-{found.lastgroup}">{text_of(found.group())}</span>')
        done = found.end()
    return f"{''.join(parts)}{text_of(source[done:])}"


def code(words: str) -> str:
    """Words in a monospaced font."""
    return f"<code>{text_of(words)}</code>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names, which are escaped here, and cells, which are pieces of HTML."""
    lines = "".join(f"<tr><th>{text_of(name)}</th><td>{cell}</td></tr>" for name, cell in rows)
    return f'<table class="aj-table">{lines}</table>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts and numbers; numbers are aligned to the right.

    >>> table(["loop", "ms"], [["k1", 0.5]])[-74:]
    '><tbody><tr><td>k1</td><td class="aj-number">0.5</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{text_of(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<table class="aj-table"><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>'


def _cell(content: object) -> str:
    is_number = isinstance(content, (int, float)) and not isinstance(content, bool)
    mark = ' class="aj-number"' if is_number else ""
    return f"<td{mark}>{text_of(content)}</td>"


def folded(
    title: str, content: str, *, opened: bool = False, beside: str = "", framed: bool = False
) -> str:
    """A section that opens at a click.

    Its content, and the text beside its title, are pieces of HTML.
    """
    mark = ' open="open"' if opened else ""
    mark += ' class="aj-framed"' if framed else ""
    return f"<details{mark}><summary>{text_of(title)}{beside}</summary>{content}</details>"


def card(title: str, *content: str) -> str:
    """A framed piece with a title (both pieces of HTML), for a notebook; it includes the style."""
    style = f"<style>{style_sheet(notebook=True)}</style>"
    head = f'<div class="aj-title">{title}</div>' if title else ""
    return f'<div class="autojit">{style}<div class="aj-card">{head}{"".join(content)}</div></div>'


def pane(svg: str) -> str:
    """A drawing for a notebook, scrolled if it is large; it includes the style."""
    style = f"<style>{style_sheet(notebook=True)}</style>"
    return f'<div class="autojit">{style}<div class="aj-scroll">{svg}</div></div>'


def article(title: str, *content: str, script: str = "") -> str:
    """A page that is read from top to bottom, with margins; its contents are pieces of HTML."""
    return page(title, f'<main class="aj-article">{"".join(content)}</main>', script=script)


def page(title: str, content: str, *, script: str = "") -> str:
    """A whole, self-contained page; the content is a piece of HTML."""
    code = f"<script>\n//<![CDATA[\n{script}//]]>\n</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html class="aj-page" lang="en"><head><meta charset="utf-8"/>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{text_of(title)}</title><style>{page_style()}</style></head>\n"
        f'<body class="autojit">{content}\n{code}</body></html>\n'
    )
