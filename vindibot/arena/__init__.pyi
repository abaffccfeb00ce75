from .live import ConsoleReporter as ConsoleReporter
from .report import write_report as write_report
from .results import read_results as read_results
from .settings import (
    ArenaSettings as ArenaSettings,
)
from .store import (
    LINE as LINE,
    records_path as records_path,
    setup_path as setup_path,
)
from .summary import summarise as summarise
from .table import show as show
from .tournament import (
    Tournament as Tournament,
    interruptible as interruptible,
    prepare as prepare,
)
from .versions import mixed_versions as mixed_versions
