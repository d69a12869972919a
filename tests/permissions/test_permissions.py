"""What a request for permission is made of; what becomes of it is in faults/ and real/."""

import copy
import pickle

import pytest
from made_requests import Slot, answers_to, made_request
from tables import each

from claude_sync import LATER, PermissionRequest, Questions, UsageError, policies

BASH_RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "make"}],
    "behavior": "allow",
    "destination": "localSettings",
}
FOLDER = {"type": "addDirectories", "directories": ["/x"], "destination": "localSettings"}
ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def asked(tool="Bash", input=None, **fields):
    """A request as the CLI makes it."""
    return made_request(tool, input or {}, "/somewhere", **fields)


def sent(request):
    """The one answer, without its envelope."""
    (reply,) = answers_to(request)
    return reply


def test_fields_of_wrong_types_do_no_harm():
    """Whatever comes, the attributes have their types."""
    request = asked(5, permission_suggestions="x", blocked_path=[], mcp_server={"name": 7})
    request.raw["input"] = "junk"
    assert (request.input, request.suggestions, request.blocked_path) == ({}, (), None)
    assert request.mcp_server is None
    assert request.cwd == "/somewhere"


@each(
    ("tool", "told", "server"),
    [
        ("mcp__files__read", None, "files"),
        ("mcp__files__read", {"name": "other"}, "other"),
        ("mcp__files__read", "named", "named"),
        ("mcp__files", None, None),
        ("Bash", None, None),
    ],
)
def test_the_server_of_a_tool(tool, told, server):
    """As the CLI tells it, or from the tool's name."""
    assert asked(tool, mcp_server=told).mcp_server == server


@each(
    ("suggestions", "save", "updates"),
    [
        ([BASH_RULE, FOLDER, ACCEPT_EDITS], False, [{**BASH_RULE, "destination": "session"}]),
        ([BASH_RULE, FOLDER, ACCEPT_EDITS], True, [BASH_RULE]),
        # 2.1.29 suggests no rule for some commands.
        ([FOLDER, ACCEPT_EDITS], False, None),
        ([ACCEPT_EDITS, {**BASH_RULE, "behavior": "deny"}], False, None),
        ([], True, None),
    ],
)
def test_always_is_what_the_cli_suggests_except_a_mode(suggestions, save, updates):
    """For this session, unless it is to be saved; without a rule it is allowed once."""
    request = asked(permission_suggestions=suggestions)
    assert bool(request.always) == (updates is not None)
    decision = request.allow_always(save=save)
    assert decision.behavior == "allow"
    assert sent(request).get("updatedPermissions") == updates
    assert bool(request._slot.notes) == (updates is None)


def test_edits_are_accepted_where_the_cli_offers_it():
    """With its own suggestion, for this session; elsewhere that is a mistake."""
    saved = {**ACCEPT_EDITS, "destination": "userSettings"}
    request = asked("Write", permission_suggestions=[BASH_RULE, saved])
    assert request.can_accept_edits
    assert request.accept_edits().behavior == "allow"
    assert sent(request)["updatedPermissions"] == [ACCEPT_EDITS]
    for others in ([], [BASH_RULE], [{**ACCEPT_EDITS, "mode": "bypassPermissions"}]):
        request = asked("Write", permission_suggestions=others)
        assert not request.can_accept_edits
        with pytest.raises(UsageError, match="can_accept_edits"):
            request.accept_edits()
        assert answers_to(request) == []


def test_a_blank_message_says_something():
    """Claude should read a reason."""
    request = asked()
    request.deny("  ")
    assert "denied" in sent(request)["message"]


@each(
    "verb",
    [
        *(lambda request, bad=bad: request.deny(bad) for bad in (None, 5, b"no")),
        *(lambda request, bad=bad: request.allow(bad) for bad in ("ls", ["ls"], 1)),
        *(
            lambda request, bad=bad: request.allow(permissions=bad)
            for bad in ("acceptEdits", {"type": "setMode"}, [1], [{"mode": "x"}])
        ),
        lambda request: request.answer({}),
        lambda request: request.approve_plan(),
        lambda request: request.input.clear() or request.allow(),
    ],
)
def test_what_cannot_be_answered_is_refused(verb):
    """And nothing is answered."""
    request = asked(input={"command": "ls"})
    with pytest.raises(UsageError):
        verb(request)
    assert answers_to(request) == []


def test_a_plan_is_approved_with_a_mode_that_exists():
    """Old CLIs would take any word; with None the mode stays."""
    with pytest.raises(UsageError, match="acceptEdits"):
        asked("ExitPlanMode").approve_plan("everything")
    for mode, updates in (("acceptEdits", [ACCEPT_EDITS]), (None, None)):
        request = asked("ExitPlanMode")
        request.approve_plan(mode)
        assert sent(request).get("updatedPermissions") == updates
    request = asked("ExitPlanMode")
    request.approve_plan("manual")
    assert sent(request)["updatedPermissions"][0]["mode"] == "default"


def test_the_turn_is_interrupted_only_where_the_reply_cannot_say_it():
    """The older form of an answer has no word for it."""
    older = {"type": "callback.request", "id": "c", "payload": {"tool_name": "Bash"}}
    for interrupt in (False, True):
        request = PermissionRequest(older, Slot(older["payload"], "/"))
        assert request.deny("no", interrupt=interrupt).interrupts is interrupt
        assert not asked().deny("no", interrupt=interrupt).interrupts


def test_questions_show_the_request():
    """The same id, agent and fields."""
    request = asked("AskUserQuestion", {"questions": []}, tool_use_id="t", agent_id="a")
    questions = Questions(request)
    assert (questions.tool_use_id, questions.agent_id, questions.raw) == ("t", "a", request.raw)
    assert questions.questions == ()
    questions.decline()
    assert sent(request)["behavior"] == "deny"


def test_there_is_one_later():
    """Also after copying and pickling."""
    assert copy.deepcopy(LATER) is LATER
    assert pickle.loads(pickle.dumps(LATER)) is LATER


def test_a_real_request_is_decided_by_a_policy():
    """What the stand-ins of other tests are for."""
    request = asked("Read", {"file_path": "/somewhere/src/../x"})
    assert policies.allow_tools("Read(src/**)")(request) is None
    assert policies.allow_tools("Read(./x)")(request).behavior == "allow"
