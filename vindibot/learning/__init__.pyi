from .bots import (
    ModelFiles as ModelFiles,
    NetFile as NetFile,
    modelling_text as modelling_text,
    models_of as models_of,
    playing_text as playing_text,
)
from .decisions import (
    MoveDecisions as MoveDecisions,
    decisions_of as decisions_of,
)
from .experts import (
    EXPERT_COMMAND as EXPERT_COMMAND,
    Expert as Expert,
    fit_expert as fit_expert,
)
from .imitation import (
    Fit as Fit,
    check_hidden as check_hidden,
    fit_net as fit_net,
    fit_table as fit_table,
)
from .matches import (
    MATCH_HEADS as MATCH_HEADS,
    NetMatch as NetMatch,
    match_row as match_row,
    net_of as net_of,
    read_nets as read_nets,
    rivals_of as rivals_of,
)
from .positions import positions_of as positions_of
from .report import (
    HEADS as HEADS,
    cells as cells,
    matches_text as matches_text,
    write_report as write_report,
)
from .selfplay import (
    Limit as Limit,
    Row as Row,
    Selfplay as Selfplay,
    selfplay_settings as selfplay_settings,
)
from .value import (
    QUALITY_HEADS as QUALITY_HEADS,
    VALUE_COMMAND as VALUE_COMMAND,
    fit_value as fit_value,
    quality_rows as quality_rows,
)
