from .fillers import filling as filling
from .play import play_games as play_games
from .player import (
    GameObserver as GameObserver,
    GamePlayer as GamePlayer,
    Report as Report,
    finish_opponents as finish_opponents,
    start_voters as start_voters,
)
from .stdio import (
    StdioSettings as StdioSettings,
    play_stdio as play_stdio,
)
