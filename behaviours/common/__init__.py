"""Kernels and tables that several traits share: map tables, evaluation, duels, policy, targets."""
