"""The options of a client: one dataclass, whose fields carry all that is known of an option."""

from .options import *  # noqa: F403
from .options import __all__ as __all__
