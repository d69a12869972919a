"""Requests beside the questions; what goes wrong with them is in faults/."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE

from claude_sync import Client, InterruptReceipt, UsageError
from claude_sync.runtime.connection import BeingReplaced
from claude_sync.support.waiting import Deadline
from claude_sync.testing import ScriptedCli


@pytest.fixture
def cli():
    """A CLI in memory that answers every request with its name."""

    def script(cli):
        cli.accept()
        while True:
            request = cli.expect("control_request", patience=PATIENCE)
            cli.reply(request, name=request["request"]["subtype"])

    return ScriptedCli(script)


def test_a_request_and_its_reply(cli):
    """The reply is the CLI's own object."""
    with Client(transport=cli) as client:
        assert client._engine.requests.control("mend", {}, PATIENCE) == {"name": "mend"}


@pytest.mark.parametrize("subtype", ["", None, 7])
def test_a_request_has_a_name(cli, subtype):
    """Anything else is refused before anything is started."""
    with Client(transport=cli) as client, pytest.raises(UsageError, match="control request"):
        client._engine.requests.control(subtype, {}, PATIENCE)


def test_one_that_comes_too_late_goes_to_the_next(cli, monkeypatch):
    """A connection that is being replaced is not asked."""
    with Client(transport=cli) as client:
        client.start(PATIENCE)
        connection = client._engine.lifecycle.connection
        request, late = connection.request, [True, True]

        def replaced(*arguments):
            if late:
                raise BeingReplaced(late.pop())
            return request(*arguments)

        monkeypatch.setattr(connection, "request", replaced)
        pending = client._engine.requests.send("x", "mend", {}, Deadline(PATIENCE))
        assert pending.wait(PATIENCE).body == {"name": "mend"}
        assert late == []


def test_what_is_being_replaced_takes_no_request(cli):
    """It would end before it answers; to interrupt it, nothing runs."""
    with Client(transport=cli) as client, ThreadPoolExecutor(1) as pool:
        client.start(PATIENCE)
        connection = client._engine.lifecycle.connection
        connection.retiring = True
        with pytest.raises(BeingReplaced):
            connection.request("mend", {})
        assert client.interrupt() == InterruptReceipt()
        connection.retiring = False
        assert pool.submit(client.control, "mend").result(PATIENCE) == {"name": "mend"}
