"""Nets: learned policies and values over one-hot features, and the trait `learned`, which plays a net alone."""
