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
    read_nets as read_nets,
    selfplay_settings as selfplay_settings,
)
