"""Rollout: our plans played out to see which gains most (Tesauro and Galperin 1996), as a trait.

`policy` is the rollout policy and `policy_params` its parameters. `plans` lists the plans, `playouts` plays them out, `opponents`
finds the policies that predict the rivals' last moves, `repetition` the moves that they repeat. `Rollout` turns the outcomes
into votes.
"""

from behaviours.rollout.trait import Rollout

__all__ = ["Rollout"]
