"""Where the time goes: ``autojit.profile`` and the command ``autojit profile``.

``recorder`` is told of spans and keeps a tree of them for each thread; ``lines`` finds the user's
lines of what ran; the other modules show both.
"""
