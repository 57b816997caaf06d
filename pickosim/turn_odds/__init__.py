"""Exact odds of a single turn: `question` (what is asked), `answer`."""
