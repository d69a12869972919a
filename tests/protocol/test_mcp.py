"""The MCP server: what it answers, what it leaves unanswered, and what has to be run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.protocol import codec, mcp

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def described(name, **fields):
    """What a server knows of a tool."""
    known = {
        "title": None,
        "description": "",
        "schema": SCHEMA,
        "annotations": {},
        "max_result_chars": None,
    }
    return SimpleNamespace(**{**known, "name": name, **fields})


def server(*tools):
    """A server with *tools*, or with the one that is named echo."""
    found = tools or (described("echo"),)
    return mcp.McpServer("mine", "1.2", {tool.name: tool for tool in found})


def request(method, request_id=1, **fields):
    """A request of the client."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, **fields}


def reply(message, *tools):
    """The one immediate reply to *message*."""
    outcome = server(*tools).receive(message)
    assert (outcome.call, outcome.cancelled) == (None, None)
    return outcome.reply


def error_code(message):
    """The code of the error that *message* is answered with."""
    answer = reply(message)
    assert isinstance(answer["error"]["message"], str)
    assert answer["error"]["message"]
    return answer["error"]["code"]


def call_of(**params):
    """The call that a tools/call with *params* asks for."""
    return server().receive(request("tools/call", params={"name": "echo", **params})).call


# The handshake.


@pytest.mark.parametrize("version", mcp.PROTOCOL_VERSIONS)
def test_a_known_version_is_agreed_to(version):
    """The client's version is the answer, with name, version and the one capability."""
    answer = reply(request("initialize", params={"protocolVersion": version}))
    assert answer == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mine", "version": "1.2"},
        },
    }


def test_an_unknown_version_is_answered_with_the_newest():
    """The client decides then whether it can go on."""
    answer = reply(request("initialize", params={"protocolVersion": "2099-01-01"}))
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_a_second_handshake_is_like_the_first():
    """Nothing is remembered, and ids may begin at zero again."""
    one = server()
    hello = request("initialize", request_id=0, params={"protocolVersion": "2025-06-18"})
    assert one.receive(hello) == one.receive(hello)
    assert one.receive(hello).reply["id"] == 0


def test_a_ping_is_answered():
    """With an empty result."""
    assert reply(request("ping"))["result"] == {}


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 3}, {"protocolVersion": None}])
def test_a_handshake_without_a_version_is_refused(params):
    """A version is a string."""
    assert error_code(request("initialize", params=params)) == mcp.INVALID_PARAMS


# The list of tools.


def test_a_plain_tool_is_listed_with_what_it_has():
    """What is empty is left out; the CLI is asked to show it from the start."""
    answer = reply(request("tools/list"))
    meta = {"anthropic/alwaysLoad": True}
    assert answer["result"] == {"tools": [{"name": "echo", "inputSchema": SCHEMA, "_meta": meta}]}


def test_everything_known_of_a_tool_is_listed():
    """The title stands where newer and where older clients look for it."""
    tool = described(
        "w",
        title="Weather",
        description="Tells it.",
        annotations={"readOnlyHint": True},
        max_result_chars=90000,
    )
    assert reply(request("tools/list"), tool)["result"]["tools"] == [
        {
            "name": "w",
            "title": "Weather",
            "description": "Tells it.",
            "inputSchema": SCHEMA,
            "annotations": {"readOnlyHint": True, "title": "Weather"},
            "_meta": {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 90000},
        }
    ]
    assert tool.annotations == {"readOnlyHint": True}


def test_tools_keep_their_order():
    """The list is the same each time."""
    names = ["b", "a", "c"]
    answer = reply(request("tools/list"), *map(described, names))
    assert [tool["name"] for tool in answer["result"]["tools"]] == names


@pytest.mark.parametrize("cursor", ["page2", "", None])
def test_every_cursor_leads_to_the_only_page(cursor):
    """There is no paging."""
    answer = reply(request("tools/list", params={"cursor": cursor}))
    assert len(answer["result"]["tools"]) == 1
    assert "nextCursor" not in answer["result"]


def test_a_tool_that_is_added_later_is_there():
    """The tools are looked at for each message."""
    tools = {}
    one = mcp.McpServer("mine", "1", tools)
    tools["late"] = described("late")
    assert len(one.receive(request("tools/list")).reply["result"]["tools"]) == 1
    assert one.receive(request("tools/call", params={"name": "late"})).call


def test_the_manifest_says_what_the_handshake_would():
    """In the version that the CLI reads manifests in."""
    one = server()
    found = mcp.manifest(one)
    assert found["initializeResult"]["protocolVersion"] == "2025-11-25"
    hello = request("initialize", params={"protocolVersion": "2025-11-25"})
    assert found["initializeResult"] == one.receive(hello).reply["result"]
    assert found["toolsListResult"] == one.receive(request("tools/list")).reply["result"]


# Calls.


def test_a_call_has_to_be_run():
    """All that the runtime needs is in it; there is no reply yet."""
    meta = {"claudecode/toolUseId": "toolu_1", "progressToken": 7}
    params = {"name": "echo", "arguments": {"x": 1}, "_meta": meta}
    outcome = server().receive(request("tools/call", request_id=4, params=params))
    assert outcome.call == mcp.ToolCall(4, "echo", {"x": 1}, "toolu_1", 7)


@pytest.mark.parametrize("params", [{}, {"arguments": None, "_meta": None}])
def test_what_a_call_leaves_out_is_empty(params):
    """Arguments, the id of the tool use and the token are optional."""
    assert call_of(**params) == mcp.ToolCall(1, "echo", {}, None, None)


def test_an_id_of_a_tool_use_of_a_wrong_type_is_ignored():
    """It is not part of the protocol, and the tool can run without."""
    assert call_of(_meta={"claudecode/toolUseId": 3}).tool_use_id is None


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 3},
        {"name": "unknown"},
        {"name": "echo", "arguments": [1]},
        {"name": "echo", "arguments": "x"},
        {"name": "echo", "_meta": 3},
        {"name": "echo", "_meta": {"progressToken": [1]}},
        {"name": "echo", "_meta": {"progressToken": True}},
    ],
)
def test_a_call_of_a_wrong_shape_is_refused(params):
    """Nothing is run."""
    assert error_code(request("tools/call", params=params)) == mcp.INVALID_PARAMS


def test_an_unknown_tool_is_named():
    """Claude reads the text."""
    answer = reply(request("tools/call", params={"name": "nix"}))
    assert "nix" in answer["error"]["message"]


def test_a_result_becomes_a_reply():
    """It is bound to the request by its id."""
    result = {"content": [], "isError": False}
    assert mcp.call_reply(0, result) == {"jsonrpc": "2.0", "id": 0, "result": result}
    assert mcp.error_reply("a", mcp.INTERNAL_ERROR, "no") == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32603, "message": "no"},
    }


def test_progress_tells_what_is_known():
    """The total and the text are optional."""
    assert mcp.progress_notification(7, 1) == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 7, "progress": 1},
    }
    params = mcp.progress_notification("t", 0.5, 2, "half")["params"]
    assert params == {"progressToken": "t", "progress": 0.5, "total": 2, "message": "half"}


# Notifications, and what else is not answered.


@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/new", "ping", "tools/call"]
)
def test_a_notification_is_not_answered(method):
    """Also one that has the name of a request: without an id nobody waits."""
    outcome = server().receive({"jsonrpc": "2.0", "method": method, "params": {"name": "echo"}})
    assert outcome == mcp.Outcome()
    assert outcome.reply == {"jsonrpc": "2.0", "result": {}}  # the request around it wants one


@pytest.mark.parametrize("request_id", [0, "a", 2.5])
def test_a_cancellation_says_which_request(request_id):
    """Ids are what requests have as ids."""
    message = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": request_id, "reason": "user"},
    }
    assert server().receive(message) == mcp.Outcome(cancelled=request_id)


@pytest.mark.parametrize("params", [None, [], 3, {}, {"requestId": None}, {"requestId": [1]}])
def test_a_cancellation_of_nothing_is_ignored(params):
    """It is a notification, so there is no error either."""
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert server().receive(message) == mcp.Outcome()


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
        {"error": "junk"},
    ],
)
def test_a_reply_is_not_answered(message):
    """To answer an error with an error would go on for ever."""
    assert server().receive(message) == mcp.Outcome()


# What is wrong.


@pytest.mark.parametrize(
    "method",
    ["resources/list", "prompts/list", "logging/setLevel", "notifications/initialized", ""],
)
def test_a_method_that_is_not_announced_does_not_exist(method):
    """Requests for it are answered all the same."""
    assert error_code(request(method)) == mcp.METHOD_NOT_FOUND


@pytest.mark.parametrize(
    "message",
    [
        None,
        3,
        "ping",
        [],
        {},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 3},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"id": 1, "method": "ping"},
        {"method": "notifications/initialized"},
        *[request("ping", request_id=bad) for bad in (None, True, [1], {}, float("nan"))],
    ],
)
def test_what_is_no_request_is_refused(message):
    """Never with an exception."""
    assert error_code(message) == mcp.INVALID_REQUEST


@pytest.mark.parametrize("params", [[], [1], "x", 3, True])
@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "tools/call"])
def test_params_are_given_by_name(method, params):
    """Anything but an object is refused."""
    assert error_code(request(method, params=params)) == mcp.INVALID_PARAMS


def test_params_may_be_null():
    """That is how some clients leave them out."""
    assert reply(request("ping", params=None))["result"] == {}


@pytest.mark.parametrize("request_id", [0, 1, -1, "0", "", 1.5])
def test_an_id_comes_back_as_it_was(request_id):
    """Zero and the empty string are ids, too; errors carry them as well."""
    assert reply(request("ping", request_id=request_id))["id"] == request_id
    assert reply(request("nix", request_id=request_id))["id"] == request_id
    wrong = {**request("ping", request_id=request_id), "jsonrpc": 2}
    assert reply(wrong)["id"] == request_id


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "arguments", "_meta", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
METHODS = st.sampled_from(["initialize", "tools/list", "tools/call", "notifications/cancelled"])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": JSON,
        "method": METHODS | JSON,
        "params": JSON | st.fixed_dictionaries({"name": st.just("echo")}, optional={"_meta": JSON}),
        "result": JSON,
    },
)


@given(MESSAGES | JSON | st.lists(MESSAGES, max_size=2))
def test_whatever_comes_has_an_answer_that_can_be_sent(message):
    """No message raises, and no body breaks the line to the CLI."""
    outcome = server().receive(message)
    call = outcome.call
    reply = outcome.reply if call is None else mcp.call_reply(call.request_id, {})
    assert codec.encode({"mcp_response": reply})
