"""Collects decisions: games in which a net plays against itself and guests, with a sample of its moves.

A thread has `GAMES_PER_THREAD` games, and plays them in **pieces** of `PIECE` rounds. A **guest** is a policy of the library of
`rollout`, or a net with whole numbers as weights. In half of the games one to three seats are guests. The decisions of the other
seats are the data from which the net learns.

The lead of a hero is its gold minus the mean gold of the other heroes. The reward of a decision is the change of the lead until
the hero's next turn, divided by the number of mines. Advantages are estimated by GAE (Schulman et al. 2016).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY
from behaviours.common.map_tables import MAP_TABLES_ARRAY
from behaviours.net.features import FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, find_features
from behaviours.net.network import NETWORKS
from behaviours.net.scoring import best_move
from behaviours.rollout.policy import NO_GOAL, POLICY_ARRAY, policy_move
from sim.game import BLOW, GAMES, MAX_LIFE, PLIES_PER_ROUND, RUNNING
from sim.kernel_types import FLOATS, INT8S, INT64S, GameRecord, int64, tuple_of, uintp
from sim.kernels import entry, kernel
from sim.playout import below, next_random
from sim.rules import play
from vindibot.learning.network import FLOAT32S, INT16_ROWS, Floats, move_scores, network_size, probabilities, value_output

#: Number of games per thread, number of rounds per piece, and number of maps per thread.
GAMES_PER_THREAD, PIECE, MAPS = 128, 32, 64
#: Number of decisions for which a piece has room.
ROOM = GAMES_PER_THREAD * PIECE * 4
#: The number of a seat on which the learning net plays. Guests have the numbers 0, 1, 2, ...
LEARNER = -1
#: The statistics that `collect` adds up: decisions of the net, the sum of their rewards, the sum of the entropies of its moves,
#: finished games with guests, seats of the net in them, those of these seats that ended with more gold than every other seat,
#: finished games, and deaths of the net.
STATISTICS = ("decisions", "reward", "entropy", "guest_games", "seats", "won", "games", "deaths")


class TrainingGames(NamedTuple):
    """The games of a thread, and what belongs to them.

    - `games`: the running games. `where`: the number of each game's map. `seats` (games x 4): who plays, `LEARNER` or a guest.
    - `states`: a state of the random generator per game. `leads` (games x 4): the lead at the last decision, in gold.
    - `starts`, `tables`: the first position and the tables of each map. `open`: 1 for maps on which games may begin.
    """

    games: NDArray[np.void]
    where: NDArray[np.int64]
    seats: NDArray[np.int64]
    states: NDArray[np.uint64]
    leads: NDArray[np.float64]
    starts: NDArray[np.void]
    tables: NDArray[np.void]
    open: NDArray[np.int8]


class Guests(NamedTuple):
    """The guests: first `policies`, then `networks`. `weights` are for the policies; only the table of duels counts.

    `drawn` lists the numbers of the guests from which a game draws. `parts` has three numbers: of 1000 games, in how many
    one seat is a guest, in how many two, and in how many three.
    """

    policies: NDArray[np.void]
    networks: NDArray[np.void]
    weights: NDArray[np.void]
    drawn: NDArray[np.int64]
    parts: NDArray[np.int64]


class Piece(NamedTuple):
    """The decisions of a piece. Decision (game, round, seat) has the number (game x `PIECE` + round) x 4 + seat.

    - `state` (n x `STATE_SLOTS`) and `moves` (n x 5 `MOVE_SLOTS`): the features.
    - `chosen`: the move (0..4), or -1 if there is no decision. `logarithm`: of its probability.
    - `value`: the value before the decision. `reward`, and `ends`: 1 if the game ended before the hero's next turn.
    - `advantage` and `target` of the value, from `estimate`.
    """

    state: NDArray[np.int16]
    moves: NDArray[np.int16]
    chosen: NDArray[np.int8]
    logarithm: NDArray[np.float32]
    value: NDArray[np.float32]
    reward: NDArray[np.float32]
    ends: NDArray[np.int8]
    advantage: NDArray[np.float32]
    target: NDArray[np.float32]


_GAMES = tuple_of(
    [
        GAMES, INT64S, types.Array(types.int64, 2, "C"), types.Array(types.uint64, 1, "C"), types.Array(types.float64, 2, "C"),
        GAMES, MAP_TABLES_ARRAY, INT8S,
    ],
    TrainingGames,
)  # fmt: skip
_GUESTS = tuple_of([POLICY_ARRAY, NETWORKS, WEIGHT_ARRAY, INT64S, INT64S], Guests)
PIECE_TYPE = tuple_of([INT16_ROWS, INT16_ROWS, INT8S, FLOAT32S, FLOAT32S, FLOAT32S, INT8S, FLOAT32S, FLOAT32S], Piece)


def new_piece() -> Piece:
    """Return a piece with room for `ROOM` decisions."""
    return Piece(
        np.zeros((ROOM, STATE_SLOTS), np.int16),
        np.zeros((ROOM, 5 * MOVE_SLOTS), np.int16),
        np.full(ROOM, -1, np.int8),
        np.zeros(ROOM, np.float32),
        np.zeros(ROOM, np.float32),
        np.zeros(ROOM, np.float32),
        np.zeros(ROOM, np.int8),
        np.zeros(ROOM, np.float32),
        np.zeros(ROOM, np.float32),
    )


@kernel
def lead_of(game: GameRecord, hero: int) -> float:
    """Return the gold of a hero minus the mean gold of the other heroes."""
    own, total = float(game.hero[uintp(hero)].gold), 0.0
    for seat in range(4):
        total += float(game.hero[seat].gold)
    return own - (total - own) / 3


@kernel
def _begin(table: TrainingGames, guests: Guests, number: int) -> None:
    """Begin game `number` anew: draw its map and its guests."""
    state = table.states[number]
    state = next_random(state)
    place = below(state, len(table.starts))
    while not table.open[place]:
        place = (place + 1) % len(table.starts)
    table.games[number] = table.starts[place]
    table.where[number] = place
    for seat in range(4):
        table.seats[number, seat], table.leads[number, seat] = LEARNER, 0.0
    state = next_random(state)
    draw, missing = below(state, 1000), int64(0)
    for count in range(3):
        if len(guests.drawn) and missing == 0:
            missing = int64(count + 1) if draw < guests.parts[count] else int64(0)
            draw -= guests.parts[count]
    while missing:
        state = next_random(state)
        seat = below(state, 4)
        if table.seats[number, seat] == LEARNER:
            state = next_random(state)
            table.seats[number, seat] = guests.drawn[below(state, len(guests.drawn))]
            missing -= 1
    table.states[number] = state


@kernel
def _count_result(table: TrainingGames, number: int, statistics: NDArray[np.float64]) -> None:
    game, seats, guests = table.games[number], table.seats[number], int64(0)
    for seat in range(4):
        guests += int64(seats[seat] != LEARNER)
    statistics[6] += 1
    if guests == 0:
        return
    statistics[3] += 1
    for seat in range(4):
        if seats[seat] == LEARNER:
            statistics[4] += 1
            ahead = True
            for other in range(4):
                ahead &= other == seat or game.hero[seat].gold > game.hero[other].gold
            statistics[5] += int64(ahead)


@entry(types.void(_GAMES, _GUESTS))
def begin_all(table: TrainingGames, guests: Guests) -> None:
    """Begin all games of a table. Each begins at a random round, so that all rounds occur equally often."""
    for number in range(len(table.games)):
        _begin(table, guests, number)
        state = next_random(table.states[number])
        game = table.games[number]
        game.turn = below(state, int64(game.max_turns) // PLIES_PER_ROUND) * PLIES_PER_ROUND
        table.states[number] = state


@kernel
def _decide(
    piece: Piece, slot: int, parameters: Floats, hidden: int, units: Floats, scores: Floats, odds: Floats, state: int
) -> tuple[int, int, float]:
    """Fill decision `slot` of a piece, whose features are known: its value, its move and the logarithm of the move's probability.

    Return the next state of the random generator, the move, and the entropy of the moves. `scores` and `odds` are float32[5].
    """
    features, moves = piece.state[slot], piece.moves[slot]
    piece.value[slot] = value_output(parameters, network_size(hidden), features, moves, units, hidden)
    move_scores(parameters, features, moves, units, hidden, scores)
    probabilities(scores, odds)
    state = next_random(state)
    draw, move, entropy = below(state, 1 << 24) / (1 << 24), int64(-1), 0.0
    for each in range(5):
        if odds[each] > 0:
            if draw >= 0:
                move = int64(each)
            draw -= odds[each]
            entropy -= odds[each] * np.log(odds[each])
    piece.chosen[slot], piece.logarithm[slot], piece.ends[slot] = move, np.log(odds[move]), 0
    return state, move, entropy


@kernel
def _estimate(piece: Piece, begin: int, after: float, discount: float, trace: float) -> float:
    """Fill the advantages and targets of one seat in one game, and return the sum of its rewards.

    Its decisions are ``begin``, ``begin + 4``, ... ; `after` is the value after the last of them.
    """
    gain, total = 0.0, 0.0
    for turn in range(PIECE - 1, -1, -1):
        slot = begin + turn * 4
        if piece.chosen[slot] < 0 or piece.ends[slot]:
            after, gain = 0.0, 0.0
        if piece.chosen[slot] >= 0:
            gain = piece.reward[slot] + discount * after - piece.value[slot] + discount * trace * gain
            piece.advantage[slot], piece.target[slot] = gain, gain + piece.value[slot]
            after = float(piece.value[slot])
            total += piece.reward[slot]
    return total


@entry(types.void(_GAMES, _GUESTS, FLOAT32S, types.int64, FOUND_ARRAY, PIECE_TYPE, types.float64, types.float64, FLOATS))
def collect(
    table: TrainingGames,
    guests: Guests,
    parameters: Floats,
    hidden: int,
    features_array: NDArray[np.void],
    piece: Piece,
    discount: float,
    trace: float,
    statistics: NDArray[np.float64],
) -> None:
    """Play a piece of every game, fill `piece`, and add to `statistics` (float64, see `STATISTICS`).

    `parameters` are those of the net (`vindibot.learning.network`). `discount` is the discount of rewards per round, and `trace`
    the decay of GAE per round. `features_array` is an array of one record, which is overwritten.
    """
    features, integers = features_array[0], np.zeros(5, np.int64)
    units, scores, odds = np.zeros(6 * hidden, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    lives = np.zeros(4, np.int64)
    for number in range(len(table.games)):
        game, seats, leads = table.games[number], table.seats[number], table.leads[number]
        begun = True  # no decision of this piece and this game waits for its reward
        for turn in range(PIECE):
            tables = table.tables[table.where[number]]
            mines = max(float(tables.mines), 1.0)
            for seat in range(4):
                slot, player = (number * PIECE + turn) * 4 + seat, seats[seat]
                if player != LEARNER and player < len(guests.policies):
                    move = int64(policy_move(game, tables, guests.weights[0], guests.policies[player], seat, int64(NO_GOAL)))
                else:
                    find_features(game, tables, seat, features)
                    if player != LEARNER:
                        move = int64(best_move(guests.networks[player - len(guests.policies)], features, integers))
                piece.chosen[slot] = -1
                if player == LEARNER:
                    lead = lead_of(game, seat)
                    if not begun:
                        piece.reward[slot - 4] = (lead - leads[seat]) / mines
                        leads[seat] = lead
                    piece.state[slot, :] = features.state
                    piece.moves[slot, :] = features.moves
                    table.states[number], move, entropy = _decide(
                        piece, slot, parameters, hidden, units, scores, odds, table.states[number]
                    )
                    statistics[0] += 1
                    statistics[2] += entropy
                for hero in range(4):
                    lives[hero] = game.hero[hero].life
                play(game, move, None)
                for hero in range(4):  # a beer never heals so much
                    statistics[7] += int64(
                        seats[hero] == LEARNER and lives[hero] <= BLOW and game.hero[hero].life >= MAX_LIFE - 1
                    )
            begun = False
            over = game.status != RUNNING
            if over or turn == PIECE - 1:
                for seat in range(4):
                    if seats[seat] == LEARNER:
                        slot, lead = (number * PIECE + turn) * 4 + seat, lead_of(game, seat)
                        piece.reward[slot], piece.ends[slot] = (lead - leads[seat]) / mines, over
                        leads[seat] = lead
            if over:
                _count_result(table, number, statistics)
                _begin(table, guests, number)
                begun = True
        for seat in range(4):
            first, after = number * PIECE * 4 + seat, 0.0
            if piece.chosen[first + 4 * (PIECE - 1)] >= 0 and not piece.ends[first + 4 * (PIECE - 1)]:
                find_features(game, table.tables[table.where[number]], seat, features)
                after = float(value_output(parameters, network_size(hidden), features.state, features.moves, units, hidden))
            statistics[1] += _estimate(piece, first, after, discount, trace)
