"""The environments of PettingZoo: four learned heroes, in turn (`TurnEnv`), or all at once (`RoundEnv`).

`TurnEnv` is the game itself: each hero sees the moves of the others before it moves. In `RoundEnv`, all four choose their moves
on the state at the beginning of the round, and the moves are played in turn: this is another game.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.env_logger import EnvLogger

from sim.game import PLIES_PER_ROUND, SEATS, mover
from vindibot.base.errors import UsageError
from vindibot.env.gymnasium_envs import Info, Observation, observation_space
from vindibot.env.observing import ALL, MASK, Observations, Rows
from vindibot.env.options import EnvOptions
from vindibot.env.stepping import BEGIN, MOVE, REWARDS, worths_in
from vindibot.env.table import MODES, GameTable, frame, known_mode

#: The agents: heroes 0..3 in the order of their turns.
AGENTS = [f"hero_{hero}" for hero in range(SEATS)]


class FourHeroes:
    """A game of four learned heroes, with the observations, masks and worths of all of them.

    `max_cycles` is the number of rounds. `options` are those of `EnvOptions`, except those about rivals.
    """

    metadata: dict[str, Any] = {"name": "vindinium_v0", "render_modes": MODES, "render_fps": 10}  # noqa: RUF012

    def __init__(self, *, max_cycles: int = 300, render_mode: str | None = None, **options: Any) -> None:
        if unfit := {"rivals", "hero", "learners", "rounds", "nodes"} & set(options):
            raise UsageError(f"{', '.join(sorted(unfit))}: not an option here; max_cycles is the number of rounds")
        self.options = EnvOptions.of({**options, "learners": SEATS, "rounds": max_cycles})
        self.render_mode, self.max_cycles = known_mode(render_mode, MODES), max_cycles
        self.possible_agents, self.agents = AGENTS[:], list[str]()
        self.table = GameTable(self.options, 1, logged=True)
        self._four = Observations(self.options.lookout, SEATS)
        heroes, zeros = np.arange(SEATS), np.zeros(SEATS, np.int64)
        self._rows = Rows(heroes, zeros, zeros.copy(), heroes, np.zeros(SEATS, np.int8))
        self.worths, self._kind = np.zeros((1, SEATS)), REWARDS.index(self.options.reward)
        self.spaces = {agent: (observation_space(self.options), spaces.Discrete(5)) for agent in AGENTS}
        self.state_space = spaces.Box(0, 255, (self.game.itemsize,), np.uint8)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observations; the same object at each call."""
        return self.spaces[agent][0]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of an agent's actions: 0 Stay, 1 North, 2 South, 3 East, 4 West; the same object at each call."""
        return self.spaces[agent][1]

    @property
    def game(self) -> NDArray[np.void]:
        """The present state: an array of one `sim.game.GAME` record."""
        return self.table.running.games

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return bool(self.table.running.ended[0])

    def begin(self, seed: int | None) -> None:
        """Begin a game."""
        if seed is not None or not self.table.begun:
            self.table.seed([0], [int(np.random.default_rng().integers(2**63)) if seed is None else seed])
        self.table.advance(np.full(1, BEGIN, np.int8))
        self._rows.where[:] = self.table.running.where[0]
        worths_in(self.game, self._kind, self.worths)

    def move(self, action: int) -> NDArray[np.float64]:
        """Make the move of the hero to move, and return the change of the worth of each hero."""
        self.table.advance(np.full(1, MOVE, np.int8), np.full(1, action))
        before = self.worths.copy()
        worths_in(self.game, self._kind, self.worths)
        change: NDArray[np.float64] = (self.worths - before)[0]
        return change

    def look(self, seen: int) -> NDArray[np.int8]:
        """Return the masks of all heroes (int8, 4 x 5). The heroes in the set `seen` (a bit per hero) are also observed."""
        self._rows.wanted[:] = [ALL if seen >> hero & 1 else MASK for hero in range(SEATS)]
        self._four.look(self.game, self.table.maps.tables, self._rows)
        return self._four.masks.copy()

    def observation(self, hero: int) -> Observation:
        """Return the observation of a hero, after `look`."""
        return self._four.one(hero)

    def state(self) -> NDArray[np.uint8]:
        """Return the bytes of the game, as the observation ``record`` has them."""
        if not self.table.begun:
            EnvLogger.error_state_before_reset()
        return self.game.view(np.uint8).copy()

    def render(self) -> Any:
        """Return a picture of the game, by `render_mode`; see `vindibot.env.frames.frame`."""
        if not self.table.begun:
            EnvLogger.error_render_before_reset()
        return frame(self.table, 0, self.render_mode, mover(self.game))

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class TurnEnv(FourHeroes, AECEnv[str, Observation, int]):
    """The exact game: the agents ``hero_0`` to ``hero_3`` move in turn, four plies per round.

    Each agent's reward is the change of its worth since its last turn. `max_cycles` is the number of rounds; `options` are those
    of `EnvOptions`, except those about rivals.
    """

    metadata: dict[str, Any] = {**FourHeroes.metadata, "is_parallelizable": False}  # noqa: RUF012

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game. Without `seed`, its random numbers follow those of the last game."""
        self.begin(seed)
        self.agents = self.possible_agents[:]
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos: dict[str, Info] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._select()

    def _select(self) -> None:
        """Set the agent to move, and look at the state."""
        hero = mover(self.game)
        self.agent_selection, self._seen = AGENTS[hero], 1 << hero
        for agent, mask in zip(AGENTS, self.look(self._seen), strict=True):
            self.infos[agent] = {"action_mask": mask}

    def observe(self, agent: str) -> Observation:
        """Return what an agent sees now; its mask is that of a move now."""
        if not self.table.begun:
            EnvLogger.error_observe_before_reset()
        hero = AGENTS.index(agent)
        if not self._seen >> hero & 1:
            self._seen |= 1 << hero
            self.look(self._seen)
        return self.observation(hero)

    def step(self, action: int | None) -> None:
        """Make the move of ``agent_selection``; None for an agent whose game is over."""
        if not self.table.begun:
            EnvLogger.error_step_before_reset()
        if not self.agents:
            raise UsageError("the game is over: call reset")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise UsageError(f"the action of {agent} is None: this is for agents whose game is over")
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(AGENTS, self.move(int(action)).tolist(), strict=True))
        self._accumulate_rewards()
        if self.over:
            self.terminations = dict.fromkeys(self.agents, True)
        self._select()


class RoundEnv(FourHeroes, ParallelEnv[str, Observation, int]):
    """Another game than the original: in each round, all heroes choose their moves on the state at its beginning.

    The moves are played in turn, from ``hero_0`` to ``hero_3``. The arguments are those of `TurnEnv`.
    """

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Begin a game. Without `seed`, its random numbers follow those of the last game."""
        self.begin(seed)
        self.agents = self.possible_agents[:]
        return self._seen()

    def _seen(self) -> tuple[dict[str, Observation], dict[str, Info]]:
        masks = self.look((1 << SEATS) - 1)
        observations = {agent: self.observation(hero) for hero, agent in enumerate(AGENTS)}
        return observations, {agent: {"action_mask": mask} for agent, mask in zip(AGENTS, masks, strict=True)}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Play a round. An agent without an action stays."""
        if not self.table.begun:
            EnvLogger.error_step_before_reset()
        if not self.agents:
            raise UsageError("the game is over: call reset")
        rewards = np.zeros(SEATS)
        for _ in range(PLIES_PER_ROUND):
            rewards += self.move(int(actions.get(AGENTS[mover(self.game)], 0)))
        over = self.over
        if over:
            self.agents = []
        observations, infos = self._seen()
        ended, cut = dict.fromkeys(AGENTS, over), dict.fromkeys(AGENTS, False)
        return observations, dict(zip(AGENTS, rewards.tolist(), strict=True)), ended, cut, infos
