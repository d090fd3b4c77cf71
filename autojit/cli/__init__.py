"""The ``autojit`` command.  Importing this module loads nothing; :func:`main` loads the rest."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process."""
    try:
        from .upkeep.completion import COMPLETE

        if sys.argv[1:2] == [COMPLETE]:
            from .completing import answer

            answer(sys.argv[2:])
            return
        from .app import app

        app(prog_name="autojit")
    except KeyboardInterrupt:  # while the command was loading
        sys.exit(130)
