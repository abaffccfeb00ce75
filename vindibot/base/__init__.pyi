from . import (
    interrupts as interrupts,
    log as log,
    streams as streams,
)
from .address import (
    ServerAddress as ServerAddress,
    lan_address as lan_address,
)
from .asgi import AsgiServer as AsgiServer
from .errors import (
    UsageError as UsageError,
    VindibotError as VindibotError,
)
from .keys import (
    check_key as check_key,
    check_player_key as check_player_key,
    find_key as find_key,
    read_key_file as read_key_file,
    require_key as require_key,
)
from .log import add_secret as add_secret
from .orphans import (
    adopt_orphans as adopt_orphans,
    children as children,
    continue_after_parent as continue_after_parent,
    die_with_parent as die_with_parent,
    end_descendants as end_descendants,
    kill_children as kill_children,
    name_process as name_process,
)
from .output.console import (
    plain_table as plain_table,
    say as say,
    terminal as terminal,
)
from .output.pages import (
    compile_templates as compile_templates,
    qr_code as qr_code,
    qr_picture as qr_picture,
    render as render,
)
from .output.redaction import (
    Redactor as Redactor,
    redact_library_logs as redact_library_logs,
    redacted as redacted,
    token_of as token_of,
)
from .output.text import (
    counted as counted,
    decode_json as decode_json,
    docstring as docstring,
    printable as printable,
    printable_lines as printable_lines,
    unseen_character as unseen_character,
    weight_text as weight_text,
)
from .packages import hidden_package as hidden_package
from .paths import given_path as given_path
from .seeds import derive_seed as derive_seed
from .system.exit import exit_now as exit_now
from .system.limits import (
    allow_many_files as allow_many_files,
    forbid_core_dumps as forbid_core_dumps,
    free_files as free_files,
    limit_files as limit_files,
    limit_memory as limit_memory,
    open_files as open_files,
)
from .system.locks import (
    LockedError as LockedError,
    WriterLock as WriterLock,
)
from .system.priority import lower_priority as lower_priority
from .system.quota import cpu_quota as cpu_quota
from .writing import (
    LineFile as LineFile,
    Output as Output,
    begins_with as begins_with,
    create as create,
    replace as replace,
    short as short,
)
