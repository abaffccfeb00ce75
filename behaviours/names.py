"""The names that `behaviours` offers, each from its module. Loading this module loads numba."""

from behaviours.base import (
    RECENT_TURNS as RECENT_TURNS,
    Answer as Answer,
    Behaviour as Behaviour,
    Budget as Budget,
    SearchInfo as SearchInfo,
    SplitBehaviour as SplitBehaviour,
    View as View,
    VoteError as VoteError,
    Votes as Votes,
    plain_votes as plain_votes,
)
from behaviours.common.combat_map import combat_map as combat_map
from behaviours.common.duel import duel as duel
from behaviours.common.targets import (
    first_steps as first_steps,
    foreign_mines as foreign_mines,
    is_broke as is_broke,
    taverns_beside as taverns_beside,
)
from sim.game import (
    AIR as AIR,
    BEER_COST as BEER_COST,
    BEER_HEALS as BEER_HEALS,
    BLOW as BLOW,
    DIRECTIONS as DIRECTIONS,
    EAST as EAST,
    GAMES as GAMES,
    MAX_LIFE as MAX_LIFE,
    MINE as MINE,
    MINE_COST as MINE_COST,
    NORTH as NORTH,
    OFFSET as OFFSET,
    RUNNING as RUNNING,
    SOUTH as SOUTH,
    STAY as STAY,
    TAVERN as TAVERN,
    WALL as WALL,
    WEST as WEST,
    Game as Game,
    Games as Games,
    row_column as row_column,
    square as square,
)
from sim.kernels import entry as entry, kernel as kernel
from sim.maps import Map as Map
from sim.playout import next_random as next_random, random_move as random_move, random_state as random_state
from sim.rules import has_effect as has_effect, play as play, undo as undo
