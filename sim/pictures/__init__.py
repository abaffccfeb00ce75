"""Drawings of a game: sprites, and their places on a board."""
