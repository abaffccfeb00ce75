"""Traits of the sparring bots: rivals of different natures, against which other bots are measured."""
