"""Messages of every known type with junk inside: the turn completes all the same."""

import copy

import pytest
from patience import PATIENCE
from stand_ins import greet

from claude_sync import Client
from claude_sync.testing import ScriptedCli, builders

JUNK = [None, True, -1, 1e308, "", "junk", [], [None], [[]], {}, {"type": []}, {"": {}}, 10**30]

KNOWN = {
    "assistant": builders.assistant([builders.text("x"), builders.thinking("y")]),
    "assistant with a tool": builders.assistant(builders.tool_use("Bash", {"command": "ls"})),
    "user": builders.user(builders.tool_result("toolu_01", [builders.text("x")])),
    "replay": builders.replay({"uuid": "u", "message": {"role": "user", "content": "x"}}),
    "init": builders.init(),
    "status": builders.status("compacting"),
    "session state": builders.session_state("running"),
    "task started": builders.task_started("t1"),
    "task updated": builders.task_updated("t1"),
    "task notification": builders.task_notification("t1"),
    "background tasks": builders.background_tasks_changed(["t1"]),
    "lifecycle": builders.lifecycle("some-uuid", "started"),
    "compact boundary": builders.system(
        "compact_boundary", compact_metadata={"trigger": "auto", "pre_tokens": 1}
    ),
    "api retry": builders.system("api_retry", attempt=1, error_status=401, error="x"),
    "hook started": builders.system("hook_started", hook_id="h", hook_name="n"),
    "permission denied": builders.system("permission_denied", tool_name="Bash"),
    "rate limit": {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "allowed", "resetsAt": 1, "rateLimitType": "five_hour"},
    },
    "tool progress": {"type": "tool_progress", "tool_use_id": "toolu_01", "elapsed_time": 1.0},
    "result of nobody": builders.result("x", ["someone-else"], origin={"kind": "peer"}),
    "background result": builders.result("x", origin={"kind": "task-notification"}),
    "message start": builders.message_start(),
    "block start": builders.block_start(),
    "text delta": builders.text_delta("x"),
    "thinking delta": builders.thinking_delta("x"),
    "json delta": builders.input_json_delta("x"),
    "block stop": builders.block_stop(),
    "message delta": builders.message_delta(),
    "message stop": builders.message_stop(),
    "control response": builders.control_response("req_99", {"cancelled": ["x"]}),
    "control error": builders.control_error("req_99", "no", "code"),
    "control cancel": builders.control_cancel("r1"),
    "permission": builders.can_use_tool("Bash", {"command": "ls"}),
    "hook": builders.hook_callback("hook_1", "PreToolUse", {}),
    "mcp": builders.mcp_message("server", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    "unknown request": builders.control_request("brand_new", x=1),
    "callback": {
        "type": "callback.request",
        "request": {},
        "id": "c1",
        "session_id": "s",
        "payload": {"callback_type": "can_use_tool", "tool_name": "Bash", "input": {}},
    },
    "keep alive": {"type": "keep_alive"},
}

# By these a client tells whose turn it is, which is another matter with an old CLI.
DIFFERENT = (
    "assistant",
    "user",
    "replay",
    "init",
    "session",
    "lifecycle",
    "result",
    "background result",
)


def places(value, path=()):
    """The paths of everything inside *value*, but for the type that names it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if path == () and key in ("type",):
            continue
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def variants(message):
    """*message* with junk in each place, and without each of its parts."""
    for path in places(message):
        for junk in JUNK:
            yield changed(message, path, junk)
        yield changed(message, path)


def changed(message, path, *value):
    """A copy of *message* with *value* at *path*; without a value, that part is left out."""
    message = copy.deepcopy(message)
    part = message
    for step in path[:-1]:
        part = part[step]
    if value:
        part[path[-1]] = value[0]
    else:
        del part[path[-1]]
    return message


class Listener:
    """Handlers for everything; they look at all attributes."""

    def __init__(self):
        self.errors = []

    def look(self, event):
        repr(event)

    on_text = on_thinking = on_tool_use = on_tool_result = on_result = on_message = look
    on_system = on_init = on_status = on_task = on_rate_limit = on_stream_event = look

    def on_error(self, error):
        self.errors.append(error)


def known(style):
    """All messages, in a style; what an old CLI says like a new one is for the second tier."""
    is_same = {name for name in KNOWN if not name.startswith(DIFFERENT)} if style == "old" else ()
    return [
        pytest.param(name, style, marks=pytest.mark.everything if name in is_same else ())
        for name in KNOWN
    ]


@pytest.mark.parametrize(("name", "style"), [*known("new"), *known("old")])
def test_junk_inside(name, style, caplog):
    """Whatever is inside such a message, the turn around it completes, and nothing fails."""
    cli = ScriptedCli(style=style, patience=PATIENCE)
    listener = Listener()
    with Client(transport=cli) as client:
        client.add_handlers(listener)
        greet(client, cli)
        turn = client.stream("hi")
        user = cli.expect("user")
        cli.begin_turn(user)
        count = 0
        for variant in variants(KNOWN[name]):
            if not may_be_ours(variant):
                cli.say(variant)
                count += 1
        cli.say(builders.lifecycle(user["uuid"], "started"))
        cli.end_turn(user, "survived")
        assert turn.result(PATIENCE) == "survived"
        assert count or name == "keep alive"
        turn = client.submit("again")
        answer_next_question(cli)
        assert turn.result(PATIENCE) == "and again"
    assert listener.errors == []
    assert [each for each in caplog.records if each.exc_info] == []


def may_be_ours(message):
    """Whether this is a result that tells neither whose it is nor that it is foreign."""
    if message["type"] != "result":
        return False
    told = [message.get("user_message_uuid"), message.get("user_message_uuids")]
    named = told[0] == "someone-else" or told[1] == ["someone-else"]
    return not named and not isinstance(message.get("origin"), dict)


def answer_next_question(cli):
    """Answer the next question, whatever else the client says before it."""
    while True:
        message = cli.expect()
        if message["type"] == "user":
            cli.say(builders.session_state("idle"))
            cli.answer("and again", to=message)
            return


@pytest.mark.parametrize("style", ["new", "old"])
def test_junk_in_our_own_result(style):
    """A result that is ours, with junk in any other field, ends the turn one way or another."""
    cli = ScriptedCli(style=style, patience=PATIENCE)
    sample = builders.result("x", ["ours"] if style == "new" else [])
    paths = [path for path in places(sample) if not path[0].startswith("user_message")]
    assert len(paths) > 10
    with Client(transport=cli) as client:
        greet(client, cli)
        for path in paths:
            for junk in JUNK:
                turn = client.submit("hi", raise_on_error=False)
                user = cli.expect("user")
                result = cli.ending([user], "x")[0]
                rest = cli.ending([user], "x")[1:]
                cli.say(*cli.beginning(user), *cli.repetition(user), changed(result, path, junk))
                cli.say(*rest)
                turn.result(PATIENCE)
        assert isinstance(client.cost_usd, float)


@pytest.mark.parametrize("junk", [*JUNK, {"subtype": "success"}, {"request_id": ["req_1"]}])
def test_junk_instead_of_the_greeting(junk, cli):
    """A reply of no usable form is ignored; the right one still counts."""
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        request = cli.expect("control_request", subtype="initialize")
        cli.say({"type": "control_response", "response": junk})
        cli.say(builders.control_response(request["request_id"], {}))
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"


@pytest.mark.parametrize("junk", JUNK)
def test_junk_in_the_greeting(junk, cli):
    """Whatever the CLI tells about itself in the greeting, the session begins."""
    fields = builders.initialize_response("new", claude_code_version="1")
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        request = cli.expect("control_request", subtype="initialize")
        cli.say(builders.control_response(request["request_id"], dict.fromkeys(fields, junk)))
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"
        repr(client.info)
