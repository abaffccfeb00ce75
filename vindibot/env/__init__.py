"""Environments for reinforcement learning: Gymnasium's for one hero among rivals, and PettingZoo's for four heroes."""

from __future__ import annotations

# The import of this package registers the environments.
try:
    import gymnasium
    import pettingzoo
except ImportError as problem:
    raise ImportError(f"{problem}: the environments need more packages: pip install 'vindibot[rl]'") from None

from vindibot.env.export import export as export

#: The name of the environments in the registries of Gymnasium and PettingZoo.
ID = "vindibot/Vindinium-v0"

if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="vindibot.env.gymnasium_envs:VindiniumEnv",
        vector_entry_point="vindibot.env.gymnasium_envs:VindiniumVectorEnv",
    )
    pettingzoo.register("aec", ID, entry_point="vindibot.env.pettingzoo_envs:TurnEnv")
    pettingzoo.register("parallel", ID, entry_point="vindibot.env.pettingzoo_envs:RoundEnv")
