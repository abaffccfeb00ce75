"""The game server: rooms (running games), matchmaking, leagues, and the HTTP interface for clients."""
