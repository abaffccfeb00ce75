from .dispatch import Elsewhere as Elsewhere
from .hosts import (
    CPU_VARIABLE as CPU_VARIABLE,
    GENERIC as GENERIC,
    MachineStatus as MachineStatus,
)
from .live import ConsoleReporter as ConsoleReporter
from .proof import BuildProof as BuildProof
from .remote import (
    RemoteError as RemoteError,
    RemotePlayer as RemotePlayer,
    answer_of as answer_of,
)
from .report import write_report as write_report
from .results import MachineLine as MachineLine
from .sandbox import PlayedGame as PlayedGame
from .schedule import GameTask as GameTask
from .settings import (
    ArenaSettings as ArenaSettings,
    ClusterSettings as ClusterSettings,
)
from .store import setup_path as setup_path
from .summary import summarise as summarise
from .table import show as show
from .tournament import (
    Tournament as Tournament,
    interruptible as interruptible,
    prepare as prepare,
)
from .travel import (
    RemoteGame as RemoteGame,
    pack_entrants as pack_entrants,
)
from .versions import mixed_versions as mixed_versions
