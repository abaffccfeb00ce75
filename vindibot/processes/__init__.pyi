from .child import Child as Child
from .ending import (
    ChildEnded as ChildEnded,
    ChildEnding as ChildEnding,
    ChildLate as ChildLate,
)
from .frames import (
    FIRST_KIND as FIRST_KIND,
    ChildFrame as ChildFrame,
)
from .inside import Owner as Owner
from .requests import (
    ChildLimits as ChildLimits,
    Needs as Needs,
)
from .server import (
    ForkServer as ForkServer,
    loading_beside as loading_beside,
)
from .tasks import (
    Tasks as Tasks,
    serve_tasks as serve_tasks,
)
