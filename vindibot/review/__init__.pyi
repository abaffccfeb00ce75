from .command import (
    ReviewRequest as ReviewRequest,
    run_review as run_review,
)
from .diff import (
    DiffRequest as DiffRequest,
    run_diff as run_diff,
)
from .suite import (
    SuiteRequest as SuiteRequest,
    make_suite as make_suite,
)
