from .play import play_games as play_games
from .player import GamePlayer as GamePlayer
