"""Building blocks of HTML: escaped and highlighted text, tables, folded sections, pages."""
