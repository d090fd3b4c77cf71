"""Commands that show a function or a program."""
