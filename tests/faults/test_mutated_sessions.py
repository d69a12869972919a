"""Whatever a CLI says, and however little of it is right: every question has an end."""

import mutated_sessions


def test_recorded_sessions_with_mistakes_in_them():
    """Lines that are missing, doubled, moved, cut or full of junk: no hang, no bug in the log."""
    assert mutated_sessions.play(count=300, seed=1) == []
