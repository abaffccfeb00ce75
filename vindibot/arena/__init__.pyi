from .live import ConsoleReporter as ConsoleReporter
from .report import write_report as write_report
from .settings import (
    ArenaSettings as ArenaSettings,
)
from .store import setup_path as setup_path
from .summary import summarise as summarise
from .table import show as show
from .tournament import (
    Tournament as Tournament,
    interruptible as interruptible,
    prepare as prepare,
)
from .versions import mixed_versions as mixed_versions
