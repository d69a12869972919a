"""Prompts can make the offline CLI do things; what it does looks like the real thing."""

import pytest
from offline_session import FLAGS, STATES, STYLES, Session, text_of

from claude_sync.testing import builders
from claude_sync.testing.offline import described, directives_of


@pytest.fixture(params=STYLES)
def style(request):
    """Both styles of CLI."""
    return request.param


def test_attachments_are_described():
    """Blocks that are no text are named with their kind and size."""
    image = {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}
    text = {"type": "text", "media_type": "text/plain", "data": "abc"}
    content = [
        builders.text("look"),
        {"type": "image", "source": image},
        {"type": "document", "title": "a.txt", "source": text},
        {"type": "odd"},
    ]
    said = described({"message": {"role": "user", "content": content}})
    assert said == "look\n[image: image/png, 4 bytes]\n[a.txt: text/plain, 3 characters]\n[odd]"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("nothing [[here]] [[sleep]] [[deltas x]]", []),
        ("[[sleep 1.5]][[empty]]", [("sleep", 1.5), ("empty", 0.0)]),
        ('a [[tool Bash {"a": [[1]]}]] b', [("tool", ("Bash", {"a": [[1]]}))]),
        ("[[tool Bash {broken]] [[size 3]]", [("size", 3.0)]),
        ("[[tool Bash [1]]]", []),
        ('[[tool Bash {"a": 1} ]]', []),
    ],
)
def test_directives_are_found(prompt, expected):
    """Well-formed directives are found in their order; the rest is text."""
    assert directives_of(prompt) == expected


@pytest.mark.parametrize("count", [0, 1, 249, 250, 251, 1000])
def test_deltas_are_counted(count):
    """As many pieces as asked for come, and add up to the answer."""
    with Session(*FLAGS) as session:
        messages = session.ask(f"[[deltas {count}]]")
        kinds = [each.get("event", {}).get("type") for each in messages]
        assert kinds.count("content_block_delta") == count
        said = next(each for each in messages if each["type"] == "assistant")
        assert said["message"]["content"][0]["text"] == text_of(messages)
        assert messages[-1]["result"] == text_of(messages)
        assert len(text_of(messages)) == 5 * count


def test_deltas_without_streaming():
    """Where nothing is streamed, the same text comes in one message."""
    with Session() as session:
        assert session.ask("[[deltas 3]]")[-1]["result"] == "0000 0001 0002 "


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_the_pace_can_be_set(flags):
    """Piece by piece or whole, a slow answer is the same answer."""
    with Session(*flags, pace=0.001) as session:
        assert session.ask("one two")[-1]["result"] == "echo: one two"
        messages = session.ask("three")
        assert text_of(messages) == ("echo: three" if flags else "")
        said = [each["message"]["content"] for each in messages if each["type"] == "assistant"]
        assert said == [[builders.text("echo: three")]]


def test_a_message_of_a_given_size():
    """One message holds as many bytes as asked for."""
    with Session(*FLAGS) as session:
        messages = session.ask("[[size 100000]]")
        said = [each for each in messages if each["type"] == "assistant"]
        assert [len(each["message"]["content"][0]["text"]) for each in said] == [100_000]
        assert text_of(messages) == ""


def test_an_empty_turn_is_only_a_result(style):
    """Nothing comes before the result."""
    with Session(*FLAGS, style=style) as session:
        assert [each["type"] for each in session.ask("[[empty]]")] == ["result"]


def decide(session, behavior, **fields):
    """Ask for a tool, answer the question about it, return what comes after."""
    session.send(session.question('[[tool Bash {"command": "ls"}]]'))
    request = session.read_until("control_request")[-1]
    assert request["request"]["tool_name"] == "Bash"
    reply = {"behavior": behavior, **fields}
    session.send(builders.control_response(request["request_id"], reply))
    return session.read_until("result")


def test_a_tool_that_may_be_used(style):
    """The outcome of a tool, run with the updated input, is told and becomes the answer."""
    with Session(style=style) as session:
        messages = decide(session, "allow", updatedInput={"command": "pwd"})
        assert messages[-1]["result"] == 'Bash: offline, so not run: {"command": "pwd"}'
        blocks = [each["message"]["content"][0] for each in messages if each["type"] == "user"]
        assert blocks[0]["type"] == "tool_result"
        assert blocks[0]["is_error"] is False


def test_a_tool_that_may_not_be_used(style):
    """A denial is an error for Claude and is listed in the result; the turn goes on."""
    with Session(style=style) as session:
        result = decide(session, "deny", message="not here")[-1]
        assert result["result"] == "Bash: not here"
        assert result["permission_denials"][0]["tool_input"] == {"command": "ls"}


def test_a_denial_can_end_the_turn():
    """A denial with interrupt ends the turn as an interrupt does."""
    with Session() as session:
        result = decide(session, "deny", message="stop", interrupt=True)[-1]
        assert result["subtype"] == "error_during_execution"


def test_the_state_shows_that_a_person_is_waited_for():
    """While a permission is open, the session requires action."""
    with Session(environment=STATES) as session:
        session.send(session.question("[[tool Bash {}]]"))
        *_, state, request = session.read_until("control_request")
        assert state["state"] == "requires_action"
        session.send(builders.control_response(request["request_id"], {"behavior": "deny"}))
        assert session.read()["state"] == "running"


def test_our_replies_are_repeated_with_our_questions():
    """A new CLI that repeats user messages repeats our replies, too; they mean nothing."""
    with Session(*FLAGS) as session:
        messages = decide(session, "allow")
        assert messages[0]["type"] == "control_response"


def test_no_permission_is_asked_where_everything_is_allowed():
    """In the mode bypassPermissions a tool is used at once."""
    with Session("--permission-mode=bypassPermissions") as session:
        messages = session.ask("[[tool Read {}]]")
        assert "control_request" not in [each["type"] for each in messages]


def test_a_hook_can_refuse_a_tool():
    """One whose matcher names the tool; what it says is what becomes of the tool."""
    hooks = [{"matcher": "Read|Bash", "hookCallbackIds": ["h1"]}, {"hookCallbackIds": ["h2"]}]
    hooks.append({"matcher": "Write", "hookCallbackIds": ["h3"]})
    with Session("--permission-mode=bypassPermissions") as session:
        session.control("initialize", hooks={"PreToolUse": hooks})
        session.send(session.question('[[tool Bash {"command": "ls"}]]'))
        for decision in ("allow", "deny"):
            call = session.read_until("control_request")[-1]
            assert call["request"]["input"]["tool_input"] == {"command": "ls"}
            told = {"permissionDecision": decision, "permissionDecisionReason": "not here"}
            reply = {"hookSpecificOutput": told}
            session.send(builders.control_response(call["request_id"], reply))
        assert call["request"]["callback_id"] == "h2"
        result = session.read_until("result")[-1]
        assert result["result"] == "Bash: not here"
        assert len(result["permission_denials"]) == 1


def test_an_interrupt_withdraws_an_open_permission(style):
    """The request is cancelled first, then the turn ends; a late answer is harmless."""
    with Session(style=style) as session:
        session.send(session.question("[[tool Bash {}]]"))
        request = session.read_until("control_request")[-1]
        session.send(session.request("interrupt"))
        cancelled, acknowledged, outcome, note, *_ = session.read_until("result")
        assert cancelled["request_id"] == request["request_id"]
        assert acknowledged["type"] == "control_response"
        assert outcome["message"]["content"][0]["is_error"] is True
        assert "for tool use" in note["message"]["content"][0]["text"]
        session.send(builders.control_response(request["request_id"], {"behavior": "allow"}))
        assert session.ask("a")[-1]["result"] == "echo: a"


def test_a_tool_of_our_own_is_called():
    """A tool of a server inside the client is really called, and its text told."""
    with Session("--permission-mode=bypassPermissions") as session:
        session.send(session.request("initialize", sdkMcpServers=["calc"]))
        call = session.read()
        session.send(builders.control_response(call["request_id"], {"mcp_response": {}}))
        session.read_until("control_response")
        for answer, said in (
            ({"result": {"content": [builders.text("3")]}}, "mcp__calc__add: 3"),
            ({"error": {"code": -1, "message": "no"}}, "mcp__calc__add: no"),
        ):
            session.send(session.question('[[tool mcp__calc__add {"a": 1}]]'))
            call = session.read_until("control_request")[-1]
            assert call["request"]["message"]["params"] == {"name": "add", "arguments": {"a": 1}}
            session.send(builders.control_response(call["request_id"], {"mcp_response": answer}))
            assert session.read_until("result")[-1]["result"] == said


def test_a_message_in_mid_turn_joins_at_a_tool_round(style):
    """What is sent while a tool is used is answered in the same turn, by the same result."""
    with Session(*FLAGS, style=style) as session:
        session.send(session.question("[[tool Bash {}]]"))
        request = session.read_until("control_request")[-1]
        session.send(session.question("and this"))
        session.send(builders.control_response(request["request_id"], {"behavior": "deny"}))
        messages = session.read_until("result")
        assert messages[-1]["result"] == "Bash: denied\necho: and this"
        assert [each["uuid"] for each in messages if each.get("isReplay")] == ["u2"]
        if style == "new":
            assert messages[-1]["user_message_uuids"] == ["u1", "u2"]
        assert session.ask("a")[-1]["result"] == "echo: a"


def test_a_background_agent_reports_back_unasked():
    """After the answer comes a turn that nobody asked for; only then is the session idle."""
    with Session(environment=STATES) as session:
        session.send(session.question("[[background 0.01]]"))
        messages = session.read_until("idle")
        results = [each for each in messages if each["type"] == "result"]
        assert results[0]["user_message_uuids"] == ["u1"]
        assert results[1]["origin"]["kind"] == "task-notification"
        assert "user_message_uuids" not in results[1]
        subtypes = [each.get("subtype") for each in messages]
        assert subtypes.index("task_started") < subtypes.index("task_notification")
        alive = [each["tasks"] for each in messages if "tasks" in each]
        assert [len(tasks) for tasks in alive] == [1, 0]
