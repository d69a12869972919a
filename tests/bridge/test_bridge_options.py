"""What session.create asks for, and what of it a front end may have."""

from __future__ import annotations

import json
import os

import bridge_scripts as scripts
import pytest

from claude_sync.bridge.envelopes import Envelope, Refused
from claude_sync.bridge.settings import Policy, check_updates, plan_of
from claude_sync.errors import UsageError

TRUSTED = Policy(trusted=True)

# Every documented option, and what it is on the command line or in the greeting.
EVERYTHING = {
    "model": "opus",
    "permission_mode": "plan",
    "allowed_tools": ["Read", "Bash(git *)"],
    "disallowed_tools": ["WebFetch"],
    "system_prompt": {"type": "preset", "preset": "claude_code", "append": "Be brief."},
    "max_turns": 3,
    "max_budget_usd": 1.5,
    "max_thinking_tokens": 1000,
    "include_partial_messages": True,
    "enable_file_checkpointing": True,
    "mcp_servers": {"files": {"type": "stdio", "command": "serve-files", "args": ["-v"]}},
    "agents": {"helper": {"description": "helps", "prompt": "Help.", "tools": ["Read"]}},
    "sandbox": {
        "enabled": True,
        "auto_allow_bash_if_sandboxed": False,
        "network": {"allow_local_binding": True},
    },
    "setting_sources": ["user", "project"],
    "betas": ["context-1m-2025-08-07"],
    "output_format": {"type": "json_schema", "schema": {"type": "object"}},
    "fallback_model": "haiku",
}

AGENT = {"description": "Helps.", "prompt": "Help."}


def create(payload, policy=TRUSTED):
    """The plan for a session.create."""
    return plan_of(Envelope("session.create", payload, "1"), policy)


def refusal(payload, policy=TRUSTED):
    """Why a session.create is refused: code and text."""
    with pytest.raises(Refused) as caught:
        create(payload, policy)
    return caught.value.code, str(caught.value)


def test_every_documented_option_reaches_the_cli(front_end, tmp_path):
    """Names are translated, values are kept; a real command line shows them."""
    front = front_end(scripts.tells_how_it_was_started)
    more = tmp_path / "more"
    more.mkdir()
    options = {**EVERYTHING, "additional_directories": [str(more)]}
    session_id = front.create("go", cwd=tmp_path, options=options)
    told = json.loads(front.result(session_id)["result"])
    argv = told["argv"]
    created = front.read[0]["payload"]["sdk_session_id"]
    shown = " ".join(argv)
    for words in (
        "opus",
        "plan",
        "Read,Bash(git *)",
        "WebFetch",
        "Be brief.",
        "--max-turns",
        "1.5",
        "1000",
        "--include-partial-messages",
        "user,project",
        "context-1m-2025-08-07",
        "haiku",
        str(more),
        created,
    ):
        assert words in shown, words
    assert os.path.realpath(told["cwd"]) == os.path.realpath(tmp_path)
    assert told["env"]["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"]
    everything = json.dumps([argv, told["greeting"], told["files"]])
    for words in ("serve-files", "helps", "autoAllowBashIfSandboxed", "allowLocalBinding"):
        assert words in everything, words
    forms = [word for word in argv if word.startswith("--json-schema=")]
    assert json.loads(forms[0].partition("=")[2]) == {"type": "object"}


def test_null_is_as_good_as_nothing():
    """Languages with null send it for what is not set."""
    options = dict.fromkeys([*EVERYTHING, "additional_directories", "hooks", "tools", "cli"])
    payload = {"cwd": None, "uuid": None, "options": options}
    assert create(payload, Policy()) == create({})


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"modle": "opus"}, "did you mean model"),
        ({"permission_mode": "never"}, "permission_mode"),
        ({"max_turns": "three"}, "max_turns"),
        ({"output_format": {"type": "json_schema"}}, "output_format must be"),
        ({"hooks": []}, "hooks must be an object"),
        ({"hooks": {"Stop": {}}}, "hooks must be an object"),
        ({"hooks": {"Stop": ["x"]}}, "hooks must be an object"),
        ({"hooks": {"Stop": [{"command": "x"}]}}, "hooks must be an object"),
        ({"hooks": {"Stop": [{"matcher": 5}]}}, "hooks must be an object"),
        ({"permissions": "allow_all"}, "permissions"),
        ({"transport": "x"}, "transport"),
        ({"record": "/tmp/x"}, "record"),
        ({"resume": "x", "session_id": "12345678-1234-4234-a234-123456789012"}, "session_id"),
    ],
    ids=json.dumps,
)
def test_an_option_that_cannot_be_is_no_session(options, about):
    """SESSION_CREATE_FAILED tells which one, before anything is started."""
    code, text = refusal({"options": options})
    assert code == "SESSION_CREATE_FAILED"
    assert about in text


@pytest.mark.parametrize(
    "options",
    [
        {"permission_mode": "bypassPermissions"},
        {"cli": "/bin/sh"},
        {"env": {"LD_PRELOAD": "x"}},
        {"extra_args": {"dangerously-skip-permissions": None}},
        {"settings": {"permissions": {}}},
        {"plugins": ["/tmp"]},
        {"mcp_servers": "/etc/servers.json"},
        {"system_prompt": {"type": "file", "path": "/etc/passwd"}},
        {"resume": "/home/other/conversation.jsonl"},
        {"resume": "conversation.JSONL"},
        {"resume": "https://example.org/conversation"},
        {"resume": "C:\\conversation"},
        {"agents": {"a": {**AGENT, "permissionMode": "bypassPermissions"}}},
        {"agents": {"a": {**AGENT, "permission_mode": "bypassPermissions"}}},
        {"agents": {"a": {**AGENT, "hooks": {"Stop": [{"hooks": [{"command": "ls"}]}]}}}},
    ],
    ids=json.dumps,
)
def test_some_options_need_trust(options):
    """Without --trust-client they are refused, with it they are not."""
    code, text = refusal({"options": options}, Policy())
    assert code == "SESSION_CREATE_FAILED"
    assert "--trust-client" in text
    assert create({"options": options}).settings


def test_a_conversation_can_be_resumed_by_its_id_or_title():
    """That needs no trust; what names a file does."""
    for name in ("12345678-1234-4234-a234-123456789012", "the bridge, again"):
        assert create({"options": {"resume": name}}, Policy()).settings["resume"] == name


# Folders.


@pytest.fixture
def folders(tmp_path):
    """A folder that is allowed, with a way out of it, and one that is not."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "project").mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "inside-not").mkdir()
    (inside / "way-out").symlink_to(outside)
    (outside / "way-in").symlink_to(inside / "project")
    return inside, outside


def confined(inside):
    """A policy that allows one folder."""
    return Policy(folders=(os.path.realpath(inside),))


def test_sessions_work_where_they_may(folders):
    """In the folder itself, below it, and where a link leads into it."""
    inside, outside = folders
    for cwd in (inside, inside / "project", outside / "way-in", inside / "project" / ".."):
        settings = create({"cwd": str(cwd)}, confined(inside)).settings
        assert settings["cwd"] == os.path.realpath(cwd)


@pytest.mark.parametrize("way", ["../outside", "way-out", "../inside-not", "project/../..", "/"])
def test_sessions_work_nowhere_else(folders, way):
    """Not by dots, not by links, not by a name that begins alike; nor as further folders."""
    inside, _ = folders
    code, text = refusal({"cwd": os.path.join(inside, way)}, confined(inside))
    assert code == "SESSION_CREATE_FAILED"
    assert "outside of the folders" in text
    for name in ("additional_directories", "add_dirs"):
        payload = {"cwd": str(inside), "options": {name: [way]}}
        assert "outside of the folders" in refusal(payload, confined(inside))[1]


def test_an_answer_cannot_allow_what_options_may_not(folders):
    """Folders and modes in updated_permissions are looked at as well."""
    inside, outside = folders
    policy = confined(inside)
    good = [{"type": "addDirectories", "directories": [str(inside / "project")]}]
    assert check_updates(good, policy) == good
    with pytest.raises(UsageError, match="outside of the folders"):
        check_updates([{"type": "addDirectories", "directories": [str(outside)]}], policy)
    with pytest.raises(UsageError, match="--trust-client"):
        check_updates([{"type": "setMode", "mode": "bypassPermissions"}], policy)
    with pytest.raises(UsageError, match="list of paths"):
        check_updates([{"type": "addDirectories", "directories": str(outside)}], policy)
    with pytest.raises(UsageError, match="NUL"):
        check_updates([{"type": "addDirectories", "directories": ["a\0b"]}], policy)


def test_folders_of_an_answer_begin_where_the_session_is(folders, monkeypatch):
    """Not where the backend is; and where they lead to is what the CLI gets."""
    inside, outside = folders
    policy = confined(inside)
    monkeypatch.chdir(inside / "project")
    with pytest.raises(UsageError, match="outside of the folders"):
        check_updates([{"directories": [".."]}], policy, str(inside))
    monkeypatch.chdir(outside)
    (inside / "link").symlink_to(inside / "project")
    checked = check_updates([{"type": "a", "directories": ["link"]}], policy, str(inside))
    assert checked == [{"type": "a", "directories": [os.path.realpath(inside / "project")]}]


@pytest.mark.parametrize("name", ["cwd", "add_dirs"])
def test_a_folder_that_became_a_way_out_is_looked_at_again(folders, name):
    """Before a CLI is started in it, or again."""
    inside, outside = folders
    policy = confined(inside)
    project = str(inside / "project")
    payload = {"cwd": str(inside), "options": {"add_dirs": [project]}}
    settings = create({"cwd": project} if name == "cwd" else payload, policy).settings
    policy.check_again(settings)
    os.rmdir(project)
    os.symlink(outside, project)
    Policy().check_again(settings)
    with pytest.raises(UsageError, match="symbolic link"):
        policy.check_again(settings)


def test_no_cli_is_started_where_a_session_may_no_longer_work(folders, front_end):
    """Neither for a message nor for a call, once its folder leads elsewhere."""
    inside, outside = folders
    front = front_end(allow_cwd=[str(inside)])
    session_id = front.create(cwd=inside / "project")
    os.rmdir(inside / "project")
    os.symlink(outside, inside / "project")
    id = front.send("session.send", {"message": "hello"}, session_id=session_id)
    assert "symbolic link" in front.error(id=id, code="SDK_ERROR")["message"]
    id = front.send("query.call", {"method": "accountInfo"}, session_id=session_id)
    assert "symbolic link" in front.error(id=id, code="QUERY_METHOD_FAILED")["message"]


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_can_be_no_path_is_no_session(folders, path):
    """Whatever the system says of it."""
    inside, _ = folders
    options = {"additional_directories": [path]}
    for payload in ({"cwd": path}, {"cwd": str(inside), "options": options}):
        assert refusal(payload, confined(inside))[0] == "SESSION_CREATE_FAILED"
