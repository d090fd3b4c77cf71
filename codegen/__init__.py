"""From programs to native code; see ``DESIGN.md``."""

from .loop_ir import machine as _machine  # noqa: F401 - programs are made for this machine
