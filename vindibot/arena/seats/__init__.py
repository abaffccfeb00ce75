"""Who plays in a game: bots, programs and their protocols, and how each of them can fail."""
