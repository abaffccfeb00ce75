"""The simulator: rules, maps, distances. It uses no clock and no network, and its random numbers depend only on a seed."""
