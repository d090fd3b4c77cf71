"""Each place that shows code in a message: the code runs where it is pasted."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.autojit.errors.examples import printed
from tests.autojit.errors.fixes import FIXES, SETUP, UNTRIED
from tests.autojit.errors.sites import Site, sites

_BY_NAME: dict[str, list[Site]] = defaultdict(list)
for _site in sites():
    _BY_NAME[_site.name].append(_site)

_PLACE = re.compile(r"^( *)(FIX|L\d)(?=\s|$)", re.MULTILINE)


def shown(message: str) -> list[str]:
    """The lines of code in a message, without the comments beside them."""
    text = message.partition('\n\n  File "')[0]
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return [re.sub(r"\s+#.*$", "", line) for line in lines]


def pasted(program: str, code: list[str]) -> str:
    """A program with the code of a message in it."""

    def block(found: re.Match[str]) -> str:
        indent, word = found.groups()
        lines = code if word == "FIX" else [code[int(word[1:])]]
        return indent + f"\n{indent}".join(lines)

    return re.sub(r"\bL(\d)\b", lambda m: code[int(m[1])], _PLACE.sub(block, program))


@pytest.mark.sampled(57)
@pytest.mark.parametrize("name", FIXES)
def test_the_code_of_a_message_runs_where_it_is_pasted(name: str) -> None:
    mistake, program = FIXES[name]
    ending, message = printed(SETUP + mistake, "mistake")
    assert ending in ("raises", "warns")
    assert any(site.made(message) for site in _BY_NAME[name]), message
    code = shown(message)
    assert code, message
    fixed = pasted(program, code)
    assert printed(SETUP + fixed, "fixed")[0] == "runs", fixed


def test_each_place_is_tried_or_says_why_not() -> None:
    found = _BY_NAME.keys()
    assert found - FIXES.keys() - UNTRIED.keys() == set()
    assert (FIXES.keys() | UNTRIED.keys()) - found == set()
    assert FIXES.keys() & UNTRIED.keys() == set()


def test_code_is_pasted_with_its_indent() -> None:
    code = shown('wrong:\n    a = 1               # before\n    f(a)\n\n  File "x"\n    no')
    assert code == ["a = 1", "f(a)"]
    assert pasted("def g():\n    FIX\nL1; x = L1", code) == (
        "def g():\n    a = 1\n    f(a)\nf(a); x = f(a)"
    )


def test_a_place_is_found_in_its_message() -> None:
    site = Site("m.py", ("got ", ". Write:\n    f(", ")"))
    assert site.name == "m.py: f(…)"
    assert site.made("got 3. Write:\n    f(3)")
    assert not site.made("got 3. Write it:\n    f(3)")
