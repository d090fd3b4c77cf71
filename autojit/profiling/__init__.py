"""Where the time goes: ``autojit.profile`` and the command ``autojit profile``.

``recorder`` receives spans and keeps a tree of them for each thread; ``lines`` attributes the work
to the user's lines; the other modules present both.
"""
