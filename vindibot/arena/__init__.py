"""Tournaments between bots, with ratings, matches and reports."""
