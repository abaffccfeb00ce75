"""The trait `rollout`, which simulates plans and votes for the plan that gains most (Tesauro and Galperin 1996).

- `policy`: the rollout policy. `policy_params`: its parameters.
- `plans`: the list of plans. `playouts`: the simulation of plans.
- `opponents`: for each rival, the policies that predict its latest moves best. `repetition`: the moves that rivals repeat.
- `trait`: `Rollout`, which turns the outcomes into votes.
"""

from behaviours.rollout.trait import Rollout

__all__ = ["Rollout"]
