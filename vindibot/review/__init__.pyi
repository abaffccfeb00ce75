from .run import (
    ReviewSettings as ReviewSettings,
    review_games as review_games,
    where as where,
)
from .store import (
    ReviewFile as ReviewFile,
    review_path as review_path,
)
