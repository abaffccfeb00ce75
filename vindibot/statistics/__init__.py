"""Estimates from games in blocks, each with its uncertainty: ratings, differences, shares, rates, means, sequential tests."""
