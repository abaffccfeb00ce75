"""Compiled kernels on disk: which sources they are from, and files that are checked when they are read."""
