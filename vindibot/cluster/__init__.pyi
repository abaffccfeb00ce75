from .access import check_cluster as check_cluster
from .driver import other_machines as other_machines
from .join import join as join
