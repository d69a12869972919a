"""
Many prompts: ``claude_sync.map`` and ``claude_sync.Pool``.

::

    prompts -> [items] -> jobs -> [workers], on threads, processes or machines -> outcomes
            -> [run]: budget, pace ([limits]), tries -> [checkpoint] -> items -> program

``batches.py`` has what a program sees of a batch, ``pool.py`` what it sees of a pool. Both ask by
``crew.py``: threads with a CLI each.
"""

from .batches import Batch, map
from .checkpoint import merge
from .items import Item
from .pool import Pool

__all__ = ["Batch", "Item", "Pool", "map", "merge"]
