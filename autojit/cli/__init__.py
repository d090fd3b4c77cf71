"""The ``autojit`` command.  Importing this loads nothing; :func:`main` loads the rest."""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process."""
    from .app import app

    app(prog_name="autojit")
