"""Plays the games of a tournament on many machines, which Dask connects."""
