from .bot_files import (
    head as head,
    reference as reference,
    tuned_text as tuned_text,
    write_tuned as write_tuned,
)
from .extra import require_extra as require_extra
from .promotion import (
    MatchOutcome as MatchOutcome,
    Promotion as Promotion,
)
from .report import (
    EFFECT_HEADS as EFFECT_HEADS,
    RESULT_HEADS as RESULT_HEADS,
    ReportPart as ReportPart,
    effect_rows as effect_rows,
    result_rows as result_rows,
    study_parts as study_parts,
    write_page as write_page,
)
from .settings import (
    PromoteSettings as PromoteSettings,
    TuneSettings as TuneSettings,
)
from .study import (
    TuneStudy as TuneStudy,
    begin as begin,
    resume as resume,
)
