"""The administrator's requests: bots from a roster, and private matches."""
