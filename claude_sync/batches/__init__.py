"""
The parts of ``claude_sync.map``: many prompts, each with an answer or an error of its own.

::

    prompts -> [prompts] -> tasks -> [work], on threads, processes or machines -> outcomes
            -> batching.py: budget, pace, retries -> [checkpoints] -> items -> program

What a program sees of it is in ``claude_sync/batch.py``.
"""
