from .asking import bot_of as bot_of
from .bench import time_traits as time_traits
from .catalogue import (
    found as found,
    overview as overview,
    page as page,
)
from .conformance import (
    CHECKS as CHECKS,
    Check as Check,
    ConformanceError as ConformanceError,
    check_trait as check_trait,
    check_turn as check_turn,
)
from .doctor import examine_and_tell as examine_and_tell
from .effective import (
    bot_lines as bot_lines,
    is_bot as is_bot,
    loaded as loaded,
    schema_of as schema_of,
    settings_lines as settings_lines,
)
from .explanation import explain as explain
from .rerun import rerun_turn as rerun_turn
from .scaffold import (
    FILES as FILES,
    write_project as write_project,
)
from .tree import show_tree as show_tree
from .trial import MOST_ANSWERS as MOST_ANSWERS
