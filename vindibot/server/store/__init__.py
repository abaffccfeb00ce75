"""What the server stores: a SQLite file with bots, ratings and games."""
