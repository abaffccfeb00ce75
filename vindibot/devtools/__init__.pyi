from .bench import time_traits as time_traits
from .catalogue import (
    all_traits as all_traits,
    details as details,
    overview as overview,
)
from .conformance import (
    CHECKS as CHECKS,
    Check as Check,
    ConformanceError as ConformanceError,
    check_trait as check_trait,
    check_turn as check_turn,
)
from .doctor import run_doctor as run_doctor
from .effective import (
    bot_lines as bot_lines,
    is_bot as is_bot,
    schema_of as schema_of,
    settings_lines as settings_lines,
    settings_models as settings_models,
)
from .explanation import explain as explain
from .fitness import check_bot as check_bot
from .kernel_cache import fill_cache as fill_cache
from .rerun import (
    RerunOptions as RerunOptions,
    ask_turn as ask_turn,
    rerun_turn as rerun_turn,
)
from .scaffold import (
    write_project as write_project,
)
from .strengths import show_bots as show_bots
from .tree import show_tree as show_tree
from .trials.asking import (
    best_moves as best_moves,
    find_bot as find_bot,
    moves_of as moves_of,
)
from .trials.response import MOST_ANSWERS as MOST_ANSWERS
from .trials.trial import (
    voting_elsewhere as voting_elsewhere,
)
from .trials.watching import run_at_each_change as run_at_each_change
