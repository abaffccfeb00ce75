"""Leagues: a roster of bots, fixtures that are played as the bots join, and the standings.

A league is one JSON file, which is written again after every change, so that a server that was stopped can continue it.
`director` starts the fixtures in the lobby of a running server; the other modules know nothing of it.
"""
