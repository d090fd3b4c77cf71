"""Directed graphs: DOT text, layout, SVG; and recorded graphs."""
