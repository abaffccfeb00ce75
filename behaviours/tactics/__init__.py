"""Traits that each handle one situation: harvest, hunter, stalemate."""
