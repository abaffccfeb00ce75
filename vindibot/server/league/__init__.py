"""Leagues: a roster of bots, the fixtures, which are played when their bots join, and the standings.

A league is one JSON file. The file is written again after every change, so that a server can continue the league after a
restart. `director` starts the fixtures in the lobby of a running server. The modules that model a league do not use it.
"""
