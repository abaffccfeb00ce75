"""Leagues of a server: the bots of a roster play the games of a schedule, and the league has standings."""
