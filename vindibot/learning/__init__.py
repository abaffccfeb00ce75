"""Learning nets that play, from self-play and from recorded games."""
