"""Pages: a run as one HTML page that opens offline, and its charts as pictures.

In reading order: `html_tables`, `charts`, `report_content` (what is said and shown of a run), `html_report`.
"""
