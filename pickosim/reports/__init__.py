"""Reports: results as rich text for a terminal, as charts, and as one HTML page; nothing is printed here.

In reading order: `layout`; `story` (one game), `odds_text` (one turn); `views` (of a run), `charts`, `page` (HTML).
"""
