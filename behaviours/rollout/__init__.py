"""The trait `rollout`, which simulates plans and votes for the plan that gains most (Tesauro and Galperin 1996).

- `policy`: the rollout policy and its parameters.
- `plans`: the list of plans. `playouts`: the simulation of plans. `outcomes`: the same with the result of every scenario.
- `opponents`: for each rival, the policies that predict its latest moves best. `repetition`: heroes that do the same again.
- `trait`: `Rollout`, which turns the outcomes into votes.
"""
