"""Looking at games and bots from a terminal: why a hero did what he did, games live and recorded, how long traits take."""
