from .board import (
    Frame as Frame,
    layout as layout,
    part_of_board as part_of_board,
    rounds as rounds,
)
from .display import (
    Display as Display,
    GameDisplay as GameDisplay,
    fitting_lines as fitting_lines,
)
from .keyboard import keyboard as keyboard
from .watch import watch_game as watch_game
