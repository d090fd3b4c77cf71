"""The loop IR as a language: declared effects of statements, their text, an interpreter."""
