"""Tuning: learns parameters of bots from games, and tests whether a tuned bot is stronger."""
