from . import (
    failures as failures,
    runner as runner,
)
from .agent import (
    Agent as Agent,
    Voters as Voters,
    in_process_voters as in_process_voters,
    voters as voters,
)
from .deadline import Deadline as Deadline
from .failures import (
    OutOfTime as OutOfTime,
    debug_command as debug_command,
    line_of as line_of,
    own_traceback as own_traceback,
)
from .health import (
    TraitHealth as TraitHealth,
    ballot_entry as ballot_entry,
    is_anytime as is_anytime,
)
from .inline import Inline as Inline
from .pool import Pool as Pool
from .rehearsal import rehearse as rehearse
from .runner import (
    NOTE_LENGTH as NOTE_LENGTH,
    Vote as Vote,
    failure as failure,
    parse_answer as parse_answer,
    run as run,
)
from .warmup import (
    Preview as Preview,
    warm as warm,
)
from .worker import (
    RUN as RUN,
    TraitPlan as TraitPlan,
)
