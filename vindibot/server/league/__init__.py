"""Leagues. A league has a roster (the list of its bots), fixtures (the games to play), and standings.

A fixture is played as soon as all its bots have joined. A league is stored in one JSON file. The file is written again after
every change, so that a server can continue the league after a restart. The module `director` starts the fixtures in the lobby of
a running server. Other modules model a league and do not import `director`.
"""
