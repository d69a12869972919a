"""MCP servers of others beside the tools of the program."""

from __future__ import annotations

import sys

import pytest
import small_mcp_server

from claude_sync.testing.model import tool_use

STDIO = {"command": sys.executable, "args": [small_mcp_server.__file__]}
BROKEN = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@pytest.fixture
def web():
    """The small server over HTTP."""
    with small_mcp_server.HttpServer() as server:
        yield {"type": "http", "url": server.url}


def use_each(model, client, words, *servers):
    """Let Claude add with our tool and double with those of *servers*: the texts it got."""
    uses = [tool_use("mcp__claude_sync__add", {"first": 19, "second": 2})]
    uses += [tool_use(f"mcp__{server}__double", {"number": 21}) for server in servers]
    model.when(words).reply(uses).then_reply("done")
    answer = client.ask(words, timeout=90)
    assert answer == "done"
    request = model.wait_for_request(lambda each: each.text == words and each.is_continuation)
    texts = {result.tool_use_id: result.text for result in request.tool_results}
    return [texts[use.id] for use, _ in answer.tool_uses]


def states(servers):
    """How each server is, as the CLI tells."""
    return {server["name"]: server["status"] for server in servers}


def test_servers_of_both_kinds(client_of, model, listen, web):
    """Ours and others' are used in one turn; it is asked for those that nobody has allowed."""
    asked = []

    def decide(request):
        asked.append((request.tool, request.mcp_server))
        return True

    client = client_of(
        tools=[add],
        mcp_servers={"small": STDIO, "web": web},
        allowed_tools=["mcp__small"],
        on_permission=decide,
    )
    inits = listen(client, "init")
    assert use_each(model, client, "use all three", "small", "web") == ["21", "42", "42"]
    assert asked == [("mcp__web__double", "web")]
    connected = dict.fromkeys(("claude_sync", "small", "web"), "connected")
    assert states(inits[0].mcp_servers) == connected
    assert states(client.control("mcp_status")["mcpServers"]) == connected


def test_servers_that_may_not_and_that_cannot(client_of, model, listen):
    """Neither a server that nobody allows nor one that does not start holds up our tools."""
    client = client_of(
        tools=[add], mcp_servers={"small": STDIO, "broken": BROKEN}, strict_mcp_config=True
    )
    inits = listen(client, "init")
    ours, theirs = use_each(model, client, "use both", "small")
    assert ours == "21"
    assert "42" not in theirs
    assert "Permission denied" in theirs
    assert states(inits[0].mcp_servers) == {
        "claude_sync": "connected",
        "small": "connected",
        "broken": "failed",
    }
