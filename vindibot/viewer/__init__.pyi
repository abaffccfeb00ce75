from .bundle import (
    Bundle as Bundle,
    empty_bundle as empty_bundle,
)
from .live import (
    LiveViewer as LiveViewer,
)
from .page import (
    TYPES as TYPES,
    served_imports as served_imports,
    served_page as served_page,
    served_policy as served_policy,
    static_files as static_files,
)
from .painting import Painter as Painter
from .pictures import (
    gif_file as gif_file,
    state_at as state_at,
    svg_file as svg_file,
)
from .replay import (
    page_output as page_output,
    record_page as record_page,
    replay_file as replay_file,
)
from .states import (
    StateWriter as StateWriter,
    result_of as result_of,
)
from .votes import VotesWriter as VotesWriter
