from .bot_files import (
    head as head,
    reference as reference,
    tuned_text as tuned_text,
    write_tuned as write_tuned,
)
from .dataset import (
    Dataset as Dataset,
    dataset_of as dataset_of,
    is_positions as is_positions,
)
from .extra import require_extra as require_extra
from .fit_report import (
    COEFFICIENT_HEADS as COEFFICIENT_HEADS,
    QUALITY_HEADS as QUALITY_HEADS,
    coefficient_rows as coefficient_rows,
    fit_parts as fit_parts,
    quality_rows as quality_rows,
    summary_lines as summary_lines,
)
from .fitting import (
    FITTED as FITTED,
    fit as fit,
)
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
    DatasetSettings as DatasetSettings,
    PromoteSettings as PromoteSettings,
    TuneSettings as TuneSettings,
)
from .space import declared_range as declared_range
from .study import (
    TuneStudy as TuneStudy,
    begin as begin,
    resume as resume,
)
