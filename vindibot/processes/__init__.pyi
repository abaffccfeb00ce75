from .child import Child as Child
from .ending import (
    ChildEnded as ChildEnded,
    ChildEnding as ChildEnding,
    ChildLate as ChildLate,
    code_words as code_words,
)
from .frames import (
    DONE as DONE,
    FAILED as FAILED,
    FIRST_KIND as FIRST_KIND,
    OUTPUT as OUTPUT,
    READY as READY,
    ChildFrame as ChildFrame,
)
from .inside import (
    Owner as Owner,
    from_owner as from_owner,
)
from .requests import (
    ChildLimits as ChildLimits,
    Needs as Needs,
)
from .root import TEMPLATE as TEMPLATE
from .server import (
    ForkServer as ForkServer,
    loading_beside as loading_beside,
)
from .support import (
    require_children as require_children,
    supports_children as supports_children,
    warn_of_traits_here as warn_of_traits_here,
)
from .tasks import (
    TaskError as TaskError,
    Tasks as Tasks,
    serve_tasks as serve_tasks,
)
