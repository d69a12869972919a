"""How hooks are told to the CLI, and what is answered for them."""

import pytest

from claude_sync import UnsupportedByCli, hooks
from claude_sync.hooks import hook_output, make_hook
from claude_sync.runtime import hook_calls


class Connection:
    """Takes the place of a connection to a CLI of some version."""

    def __init__(self, *version):
        self.version = version
        self.cli_version = ".".join(map(str, version)) or None

    def is_at_least(self, *version):
        """As the real one."""
        return self.version >= version


def no_opinion(event):
    """A hook."""


CHANGE = hooks.update_input({"command": "ls"})


@pytest.mark.parametrize(
    ("decision", "version", "works"),
    [
        (CHANGE, (2, 1, 0), True),
        (CHANGE, (2, 0, 30), False),
        (CHANGE, (), False),
        (hooks.allow() | CHANGE, (2, 0, 30), True),
        (hooks.allow() | CHANGE, (), False),
        (hooks.block("no"), (), True),
        (hooks.add_context("x"), (), True),
        (None, (), True),
    ],
)
def test_a_change_that_the_cli_would_ignore(decision, version, works):
    """The tool would run with the old input, so the hook counts as failed."""
    output = hook_output("PreToolUse", decision)
    if works:
        hook_calls.check_changes(output, Connection(*version))
    else:
        with pytest.raises(UnsupportedByCli, match="input"):
            hook_calls.check_changes(output, Connection(*version))


def test_the_cli_is_told_to_wait_longer_than_we_do():
    """We answer for a hook that takes too long, before the CLI takes that for consent."""
    given = [
        make_hook("PreToolUse", no_opinion, "Bash", timeout=0.5),
        make_hook("Stop", no_opinion),
        make_hook("PreToolUse", no_opinion),
    ]
    assert hook_calls.hooks_on_the_wire(given) == {
        "PreToolUse": [
            {"hookCallbackIds": ["hook_0"], "timeout": 11, "matcher": "Bash"},
            {"hookCallbackIds": ["hook_2"], "timeout": 70},
        ],
        "Stop": [{"hookCallbackIds": ["hook_1"], "timeout": 70}],
    }


@pytest.mark.parametrize(
    ("timeout", "version", "seconds"),
    [(None, (2, 1), 60), (300, (2, 1), 300), (300, (2, 0), 55), (300, (), 55), (5, (), 5)],
)
def test_old_clis_wait_a_minute_whatever_they_are_told(timeout, version, seconds):
    """There we answer before that minute is over."""
    hook = make_hook("PreToolUse", no_opinion, timeout=timeout)
    assert hook_calls.patience_with(hook, Connection(*version)) == seconds


@pytest.mark.parametrize(
    ("callback_id", "number"),
    [("hook_0", 0), ("hook_12", 12), ("hook_", None), ("hook_x", None), (3, None), ("x", None)],
)
def test_the_number_of_a_hook_is_in_its_id(callback_id, number):
    """Anything else means no hook of ours."""
    assert hook_calls.number_of(callback_id) == number
