"""The loop IR as a language: declared effects of statements, their text, an interpreter."""

from __future__ import annotations

from pathlib import Path

#: What the text of a loop program may be.
GRAMMAR = Path(__file__).with_name("GRAMMAR.md")
