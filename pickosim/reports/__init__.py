"""Reports: results as rich text for a terminal, as charts, and as one HTML page; nothing is printed here.

In reading order: `layout`; `story` (one game), `odds_text`, `listings` (all that is no result of a study); `views` (of a
run), `charts`, `page` (HTML).
"""
