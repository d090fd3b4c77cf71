"""Programs as text and as graphs; their verifier and reference interpreter."""

from autojit.ir.core.program import views

from .graph import to_networkx
from .interpreter import interpret
from .text import print_program

views.text, views.graph, views.interpret = print_program, to_networkx, interpret
