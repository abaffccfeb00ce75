"""The world: rules, maps, distances. Pure functions over arrays; no clock, no network, and randomness only from a seed."""
