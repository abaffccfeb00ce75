from .board import (
    Picture as Picture,
    Shot as Shot,
    layout as layout,
    rounds as rounds,
)
from .display import (
    Display as Display,
    Shown as Shown,
)
from .watch import watch_game as watch_game
