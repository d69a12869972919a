"""What the CLI has told about itself."""

from types import SimpleNamespace

import pytest

from claude_sync import Info
from claude_sync.runtime.told import as_tuple, info_of


def test_nothing_is_known_of_what_was_never_started():
    """No connection, no information."""
    assert info_of(None) == Info()


def test_what_it_told():
    """Lists become tuples; what was not told is None; the reply is kept."""
    greeting = {"commands": [{"name": "help"}], "account": {"email": "a@b"}}
    connection = SimpleNamespace(greeting=greeting, cli_version="2.1.29", capabilities=None)
    info = info_of(connection)
    assert info.commands == ({"name": "help"},)
    assert info.account == {"email": "a@b"}
    assert (info.models, info.agents, info.capabilities) == (None, None, None)
    assert info.cli_version == "2.1.29"
    assert info.raw is greeting


def test_capabilities_may_come_later():
    """Those of a turn's first message say more than those of the greeting."""
    connection = SimpleNamespace(
        greeting={"capabilities": ["a"]}, cli_version=None, capabilities=["a", "b"]
    )
    assert info_of(connection).capabilities == ("a", "b")


@pytest.mark.parametrize("value", [None, "text", 3, {"a": 1}])
def test_what_is_no_list_is_none(value):
    """A CLI that tells nonsense tells nothing."""
    assert as_tuple(value) is None
