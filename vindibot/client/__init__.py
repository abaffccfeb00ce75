"""The client of a game server: it joins games, sends moves, reads replies, and recovers from faults of the network."""
