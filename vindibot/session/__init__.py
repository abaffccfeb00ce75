"""Whole games of one bot: this package joins, plays, records and shows them."""
