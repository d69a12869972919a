"""Ready-made answers to permission requests; see ``claude_sync/permissions/policies.py``."""

from .permissions.policies import *  # noqa: F403
from .permissions.policies import __all__ as __all__
