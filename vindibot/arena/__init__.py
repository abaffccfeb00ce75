"""The arena: plays bots against each other in many games, and says which is better and how sure that is."""
