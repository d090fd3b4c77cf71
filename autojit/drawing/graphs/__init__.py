"""Directed graphs: DOT text, places for the nodes, SVG; and graphs that were recorded."""
