"""The names of `sim` that `behaviours` offers to the authors of traits."""

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
