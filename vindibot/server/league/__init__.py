"""Leagues: a roster of bots, a schedule of fixtures that are played as the bots come, and the standings.

A league lives in one JSON file that is written anew after every change, so that a server that was stopped goes on where it
was. `director` starts the fixtures in a running server's lobby; all the rest knows nothing of it.
"""
