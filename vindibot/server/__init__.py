"""The game server: rooms (running games), matchmaking, and the HTTP interface for clients."""
