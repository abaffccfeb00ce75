from .fillers import filling as filling
from .play import play_games as play_games
from .player import (
    GameObserver as GameObserver,
    GamePlayer as GamePlayer,
)
from .stdio import (
    StdioSettings as StdioSettings,
    play_stdio as play_stdio,
)
