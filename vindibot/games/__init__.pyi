from . import game_record as game_record
from .ballot import (
    Ballot as Ballot,
    BallotEntry as BallotEntry,
    Status as Status,
    tally as tally,
)
from .files.continuation import (
    Continuation as Continuation,
    Opening as Opening,
)
from .files.game_file import (
    kind_of as kind_of,
    read_game_file as read_game_file,
)
from .files.lines import (
    fault as fault,
    read_lines as read_lines,
)
from .files.newest import (
    find_recording as find_recording,
    newest_recording as newest_recording,
)
from .files.recording import (
    Header as Header,
    LastState as LastState,
    RecordedTurn as RecordedTurn,
    Recorder as Recorder,
    Recording as Recording,
    RecordingError as RecordingError,
    TraitHeader as TraitHeader,
    read_recording as read_recording,
    recording_folder_problem as recording_folder_problem,
    unwritable_reason as unwritable_reason,
)
from .files.review import (
    LONGEST_LINE as LONGEST_LINE,
    REVIEW_SUFFIX as REVIEW_SUFFIX,
    Kind as Kind,
    MoveValue as MoveValue,
    Review as Review,
    ReviewedTurn as ReviewedTurn,
    ReviewHeader as ReviewHeader,
    Thresholds as Thresholds,
    is_review_line as is_review_line,
    parse_review as parse_review,
    read_review as read_review,
    read_reviews as read_reviews,
    review_path as review_path,
    write_review_line as write_review_line,
)
from .files.turn_choice import choose_turn as choose_turn
from .files.vote_line import (
    PV_LETTERS as PV_LETTERS,
    VoteLine as VoteLine,
    write_entry as write_entry,
    write_pv as write_pv,
)
from .game_record import (
    GameRecord as GameRecord,
    GameRecordError as GameRecordError,
    dumps as dumps,
    loads as loads,
    map_before as map_before,
    read_records as read_records,
)
from .history import (
    GameHistory as GameHistory,
    Ply as Ply,
)
from .line_protocol import (
    EXPERT as EXPERT,
    LineGame as LineGame,
)
from .losses import (
    KINDS_OF_LOSS as KINDS_OF_LOSS,
    MARKS as MARKS,
    PHASES as PHASES,
    BotLosses as BotLosses,
    Losses as Losses,
    losses_by_bot as losses_by_bot,
)
from .moments import (
    moment as moment,
    write_moment as write_moment,
)
from .notes import (
    MESSAGE as MESSAGE,
    STANDARD_ERROR as STANDARD_ERROR,
    GameNote as GameNote,
    NoteLimit as NoteLimit,
    game_notes as game_notes,
    read_notes as read_notes,
    write_notes as write_notes,
)
from .outcome import (
    Outcome as Outcome,
    Reason as Reason,
    ranks as ranks,
    reason_of as reason_of,
    result_text as result_text,
)
from .protocol import (
    LIMIT_HEADER as LIMIT_HEADER,
    Answer as Answer,
    GameState as GameState,
    Player as Player,
    ProtocolError as ProtocolError,
    UnreadableError as UnreadableError,
    answer_games as answer_games,
    check_hero_id as check_hero_id,
    encode_json as encode_json,
    from_games as from_games,
    read_answer as read_answer,
    read_direction as read_direction,
    read_game as read_game,
    to_games as to_games,
)
from .verify import verify_files as verify_files
from .views import (
    NODES as NODES,
    view as view,
)
