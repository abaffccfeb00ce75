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
from .locks import (
    LockedError as LockedError,
    WriterLock as WriterLock,
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
from .quota import cpu_quota as cpu_quota
from .seeds import derive_seed as derive_seed
from .writing import (
    LineFile as LineFile,
    Output as Output,
    begins_with as begins_with,
    create as create,
    replace as replace,
    short as short,
)
