"""Output in a terminal: boards, and games that are played or watched."""
