from .command import (
    ReviewRequest as ReviewRequest,
    run_review as run_review,
)
