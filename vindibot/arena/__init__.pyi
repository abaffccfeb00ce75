from .checks.before import check_programs as check_programs
from .checks.program import (
    CheckResult as CheckResult,
    check_program as check_program,
)
from .dispatch import (
    Dispatcher as Dispatcher,
    Elsewhere as Elsewhere,
    GamePlayers as GamePlayers,
    Stop as Stop,
)
from .hosts import (
    CPU_VARIABLE as CPU_VARIABLE,
    GENERIC as GENERIC,
    MachineStatus as MachineStatus,
    this_machine as this_machine,
)
from .ladder import (
    Ladder as Ladder,
    prepare_ladder as prepare_ladder,
    table_output as table_output,
    write_table as write_table,
)
from .mapsets import (
    MapSet as MapSet,
    read_map_set as read_map_set,
)
from .report.charts import (
    Curve as Curve,
    Range as Range,
    lines as lines,
    ranges as ranges,
)
from .report.live import (
    ConsoleReporter as ConsoleReporter,
    GameRate as GameRate,
)
from .report.page import write_report as write_report
from .report.plan import show_plan as show_plan
from .report.summary import (
    Summary as Summary,
    summarise as summarise,
)
from .report.table import (
    evidence as evidence,
    show as show,
)
from .report.versions import mixed_versions as mixed_versions
from .results import (
    GameLine as GameLine,
    MachineLine as MachineLine,
    PlayedGame as PlayedGame,
    read_results as read_results,
    that_count as that_count,
)
from .schedule import (
    GameTask as GameTask,
    SeatTask as SeatTask,
    wall_seconds as wall_seconds,
)
from .seats.child_seat import (
    needs_child as needs_child,
    needs_of as needs_of,
)
from .seats.entrants import (
    Entrant as Entrant,
    Limits as Limits,
    files_digest as files_digest,
    read_entrants as read_entrants,
    unique_label as unique_label,
)
from .settings import (
    RUNGS as RUNGS,
    ArenaSettings as ArenaSettings,
    ClusterSettings as ClusterSettings,
    MapSettings as MapSettings,
    SprtSettings as SprtSettings,
)
from .store import (
    games_path as games_path,
    is_results as is_results,
    setup_path as setup_path,
)
from .suites import (
    SuitePosition as SuitePosition,
    suite_output as suite_output,
    write_suite as write_suite,
)
from .tournament import (
    Tournament as Tournament,
    prepare as prepare,
    stopping as stopping,
)
from .worker import (
    LocalGames as LocalGames,
    guarded as guarded,
    play_task as play_task,
    prepare_children as prepare_children,
    preparing as preparing,
)
