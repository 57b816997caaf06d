"""Chances: exact answers about a single turn, for a person who asks (`questions`, then `turn_odds`)."""
