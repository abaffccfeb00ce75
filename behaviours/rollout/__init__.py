"""Rollout: our plans played out to see which gains most (Tesauro and Galperin 1996), as a trait.

`params` is how a hero plays, as a few numbers; `follow` is the order that a style gives; `plans` are what we could set out
to do; `playouts` plays them out; `rivals` says which styles the others' last orders speak for; `Rollout` makes votes of the
outcomes.
"""

from behaviours.rollout.trait import Rollout

__all__ = ["Rollout"]
