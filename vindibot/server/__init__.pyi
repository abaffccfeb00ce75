from .embedded import (
    EmbeddedServer as EmbeddedServer,
    run_server as run_server,
)
from .game_server import (
    GameServer as GameServer,
    ServerError as ServerError,
)
from .league.director import Director as Director
from .league.league import (
    ORGANISER_SUFFIX as ORGANISER_SUFFIX,
    SUFFIX as SUFFIX,
    League as League,
)
from .league.roster import (
    new_organiser_key as new_organiser_key,
    read_roster as read_roster,
    write_keys as write_keys,
    write_organiser_key as write_organiser_key,
)
from .league.settings import (
    LeagueSettings as LeagueSettings,
    play_command as play_command,
)
from .league.slips import (
    slips_page as slips_page,
    write_slips as write_slips,
)
from .league.standings import as_csv as as_csv
from .lobby import RANDOM_BOT as RANDOM_BOT
from .match import (
    Match as Match,
    MatchResult as MatchResult,
)
from .parameters import read_body as read_body
from .refusal import Refusal as Refusal
from .room import (
    Room as Room,
    RoomObserver as RoomObserver,
)
from .settings import (
    COMMAND_DEFAULTS as COMMAND_DEFAULTS,
    ServerSettings as ServerSettings,
)
