"""Commands that show a game, or one of its turns."""
