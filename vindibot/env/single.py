"""The environment of Gymnasium: one learned hero among rivals, which may be any bots."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sim.game import mover
from sim.rules import step
from vindibot.base.errors import UsageError
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.env.frames import MODES, Page, frame, known_mode
from vindibot.env.options import EnvOptions
from vindibot.env.stepping import BEGIN, GO_ON, LEARNER, MOVE, PROGRAM
from vindibot.env.table import GameTable
from vindibot.env.vector import Info, Observation, check_reset, observation_space
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Reason


class VindiniumEnv(gymnasium.Env[Observation, np.int64]):
    """One game. `options` are those of `EnvOptions`, with one learner. Bots among the rivals play in this process.

    Raises `UsageError` for wrong options.
    """

    metadata: dict[str, Any] = {"render_modes": MODES, "render_fps": 10}  # noqa: RUF012

    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        self.options = EnvOptions.of(options)
        if self.options.learners != 1:
            raise UsageError("learners: gymnasium.make has one learner; make_vec or PettingZoo have several")
        self.render_mode = known_mode(render_mode, MODES)
        self.table = GameTable(self.options, 1, logged=True)
        self.action_space = spaces.Discrete(5)
        self.observation_space: spaces.Space[Observation] = observation_space(self.options)  # type: ignore[assignment]
        self._voters = [in_process_voters(bot) for bot in self.table.rivals.bots]
        self._agents: dict[int, Agent] = {}

    def __getstate__(self) -> object:
        """Return the state for a copy or a pickle. Raises `UsageError` if bots are among the rivals."""
        if self._voters:
            names = ", ".join(bot.name for bot in self.table.rivals.bots)
            raise UsageError(
                f"rivals: {names}: an environment with bots cannot be copied: bots are Python code that remembers the game; "
                "take random, policy:NAME or net:FILE"
            )
        return super().__getstate__()

    @property
    def game(self) -> NDArray[np.void]:
        """The present state: an array of one `sim.game.GAME` record."""
        return self.table.running.games

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin a game, and play until it is the turn of the learned hero."""
        super().reset(seed=seed)
        if seed is not None:
            self.table.seed([0], [seed])
        elif not self.table.begun:
            self.table.seed([0], [int(self.np_random.integers(2**63))])
        for voters in self._voters:
            voters.begin_game()
        self._agents = {}
        self._advance(BEGIN, 0)
        return self.table.seen.one(0), self._info()

    def step(self, action: int | np.integer[Any]) -> tuple[Observation, float, bool, bool, Info]:
        """Make a move, and play until it is the turn of the learned hero again, or until the game is over."""
        check_reset(self.table, "step")
        if self.table.running.ended[0]:
            raise UsageError("the game is over: call reset")
        self._advance(MOVE, int(action))
        run = self.table.running
        return self.table.seen.one(0), float(run.rewards[0]), bool(run.ended[0]), False, self._info()

    def _advance(self, task: int, action: int) -> None:
        run = self.table.running
        self.table.advance(np.full(1, task, np.int8), np.full(1, action))
        while run.waiting[0]:
            hero, turn = mover(run.games), int(run.games["turn"][0])
            if hero not in self._agents:
                voters = self._voters[PROGRAM - int(run.seats[0, hero])]
                seed = (int(run.states[0]) + hero) >> 1
                self._agents[hero] = Agent(voters, hero, seed, nodes=self.options.nodes)
            move = self._agents[hero].decide_now(run.games).direction
            run.moves[0, turn] = move
            step(run.games, 0, move)
            self.table.advance(np.full(1, GO_ON, np.int8))
        self.table.look()

    def _info(self) -> Info:
        run = self.table.running
        return {
            "action_mask": self.table.seen.masks[0].copy(),
            "hero": int(run.heroes[0]),
            "gold": run.games["hero"]["gold"][0].copy(),
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask as bools, as `sb3_contrib.MaskablePPO` asks for it."""
        check_reset(self.table, "action_masks")
        masks: NDArray[np.bool_] = self.table.seen.masks.astype(np.bool_)[0]
        return masks

    def record(self) -> GameRecord:
        """Return the game up to now, for `vindibot replay`, `vindibot review` and `vindibot.games`."""
        check_reset(self.table, "record")
        run, now = self.table.running, datetime.now(UTC)
        first = self.table.maps.starts[int(run.where[0])].reshape(1).copy()
        first["max_turns"] = run.games["max_turns"][0]
        names = ["learner" if player == LEARNER else self._name(int(player)) for player in run.seats[0].tolist()]
        moves = run.moves[0, : int(run.games["turn"][0])].tolist()
        return GameRecord.of(
            first, id="environment", names=(*names,), moves=moves,
            ending=Reason.FINISHED if run.ended[0] else Reason.INTERRUPTED, started=now, finished=now,
        )  # fmt: skip

    def _name(self, player: int) -> str:
        """Return the name of a rival."""
        players: list[int] = self.table.rivals.pool.players.tolist()
        return self.options.rivals[players.index(player)]

    def watch(self) -> Page:
        """Return the viewer's page of the game up to now. A notebook shows it in the cell."""
        return Page.of(self.record())

    def render(self) -> Any:
        """Return a picture of the game, by `render_mode`; see `vindibot.env.frames.frame`."""
        check_reset(self.table, "render")
        return frame(self.table, 0, self.render_mode, int(self.table.running.heroes[0]))

    def close(self) -> None:
        """End the threads of the bots."""
        for voters in self._voters:
            voters.let_go()
