"""Reviews of games: where a hero lost gold, how much, and why."""
