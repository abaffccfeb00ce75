"""The environments of Gymnasium: one game, in which any bot may be a rival, and a vector of games that one kernel moves on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from sim.game import mover
from sim.rules import step
from vindibot.base.errors import UsageError
from vindibot.base.text import counted
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.env.options import EnvOptions
from vindibot.env.stepping import BEGIN, GO_ON, LEARNER, MOVE, PROGRAM, SKIP
from vindibot.env.table import MODES, GameTable, Page, frame, known_mode
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Reason

Info = dict[str, Any]
Observation = dict[str, NDArray[Any]]


def observation_space(options: EnvOptions) -> spaces.Dict:
    """Return the space of one observation: ``observation`` and ``action_mask``."""
    return spaces.Dict({"observation": options.lookout.space(), "action_mask": spaces.Box(0, 1, (5,), np.int8)})


def check_reset(table: GameTable, method: str) -> None:
    """Raise Gymnasium's error for a call of this method before the first `reset`."""
    if not table.begun:
        raise ResetNeeded(f"cannot call {method} before reset")


class VindiniumVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """`num_envs` games with one or more learned seats each. The rivals play in the kernel.

    `options` are those of `EnvOptions`. With ``copy=False``, the arrays that `step` returns are overwritten by the next step.
    With several learners, a step is a move of the hero in ``infos["hero"]``, and ``infos["rewards"]`` has the rewards of all
    heroes that became known. Raises `UsageError` for wrong options.
    """

    metadata: dict[str, Any] = {"render_modes": MODES[:2], "render_fps": 10, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        copy: bool = True,
        **options: Any,
    ) -> None:
        self.options, self.num_envs, self._copy = EnvOptions.of(options), num_envs, copy
        self.render_mode = known_mode(render_mode, self.metadata["render_modes"])
        self.table = GameTable(self.options, num_envs)
        if self.table.rivals.bots:
            names = ", ".join(bot.name for bot in self.table.rivals.bots)
            raise UsageError(f"rivals: {names}: bots play in gymnasium.make alone; here are random, policy:NAME and net:FILE")
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self._mode = self.metadata["autoreset_mode"]
        self.single_action_space = spaces.Discrete(5)
        self.single_observation_space = observation_space(self.options)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._tasks, self._all = np.zeros(num_envs, np.int8), np.ones(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin all games, or those in ``options["reset_mask"]``. Game i has the seed `seed` + i, or its own of a list."""
        rows = self._rows_to_reset(options)
        seeds: Sequence[int | None]
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
            seeds = range(int(seed), int(seed) + self.num_envs)
        else:
            seeds = [None] * self.num_envs if seed is None else seed
        if len(seeds) != self.num_envs:
            raise UsageError(f"seed: {counted(len(seeds), 'seed')} for {counted(self.num_envs, 'game')}; give one for each")
        if not self.table.begun:
            seeds = [int(self.np_random.integers(2**63)) if number is None else number for number in seeds]
        known = {row: number for row, number in enumerate(seeds) if number is not None}
        self.table.seed([*known], [*known.values()])
        self.table.advance(np.where(rows, BEGIN, SKIP).astype(np.int8))
        self.table.look(rows)
        return self._observations(), self._infos(rows)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Make one move in each game, and return after the moves of the rivals. A game that ended begins anew, by the mode."""
        moves = np.ascontiguousarray(actions, np.int64)
        check_reset(self.table, "step")
        if moves.shape != (self.num_envs,):
            raise UsageError(f"{moves.shape} actions for {counted(self.num_envs, 'game')}")
        run = self.table.running
        self._tasks[:] = MOVE
        if self._mode is AutoresetMode.NEXT_STEP:
            self._tasks[run.ended] = BEGIN
        elif self._mode is AutoresetMode.DISABLED and run.ended.any():
            raise UsageError(f"game {int(run.ended.argmax())} is over: reset it with options={{'reset_mask': ...}}")
        self.table.advance(self._tasks, moves)
        self.table.look()
        rewards, ended = run.rewards.copy(), run.ended.copy()
        if self._mode is AutoresetMode.SAME_STEP and ended.any():
            final = self._final(ended)
            self.table.advance(np.where(ended, BEGIN, SKIP).astype(np.int8))
            self.table.look(ended)
            infos = {**self._infos(self._all), **final}
        else:
            infos = self._infos(self._all)
        return self._observations(), rewards, ended, np.zeros(self.num_envs, np.bool_), infos

    def _rows_to_reset(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return self._all
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise UsageError(f"reset_mask: must be an array of {self.num_envs} bools with at least one True")
        if not mask.all():
            check_reset(self.table, "reset with a reset_mask")
        return mask

    def _observations(self) -> Observation:
        seen = self.table.seen
        if self._copy:
            return {"observation": seen.observations.copy(), "action_mask": seen.masks.copy()}
        return {"observation": seen.observations, "action_mask": seen.masks}

    def _infos(self, rows: NDArray[np.bool_]) -> Info:
        """Return the infos of these rows; the others are 0."""
        run = self.table.running
        values: Info = {"action_mask": self.table.seen.masks, "hero": run.heroes, "gold": run.games["hero"]["gold"]}
        if self.options.learners > 1:
            values["rewards"] = run.gains
        infos: Info = {}
        for name, value in values.items():
            infos[name] = value.copy()
            if rows is not self._all:
                infos[name][~rows] = 0
            infos[f"_{name}"] = rows.copy()
        return infos

    def _final(self, ended: NDArray[np.bool_]) -> Info:
        """Return ``final_obs`` and ``final_info`` of the games that ended, in the form of Gymnasium's own vectors."""
        rows = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended).tolist():
            rows[row] = self.table.seen.one(row)
        marked = ended.copy()
        return {"final_obs": rows, "_final_obs": marked, "final_info": self._infos(ended), "_final_info": marked.copy()}

    def render(self) -> tuple[Any, ...] | None:
        """Return a picture of each game, by `render_mode`."""
        check_reset(self.table, "render")
        if self.render_mode is None:
            return None
        return tuple(
            frame(self.table, row, self.render_mode, hero) for row, hero in enumerate(self.table.running.heroes.tolist())
        )


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
        first["max_turns"] = self.table.rules.max_turns
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
