"""Files about games: recordings, reviews, and what is common to their lines."""
