"""Traits of the sparring bots: bots with different ways to play, against which the strength of other bots is measured."""
