"""Options: which settings there are, which values they take, what goes together."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
import uuid
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from claude_sync import options as options_module
from claude_sync.errors import UsageError
from claude_sync.option_values import CHECKERS
from claude_sync.options import Options, options_from

SESSION = "6f1c1c0e-5d0e-4b5e-9a51-0a3a2c2f6c11"

NAMES = sorted(
    name
    for line in (
        "model fallback_model permission_mode allowed_tools disallowed_tools builtin_tools tools",
        "system_prompt append_system_prompt max_turns max_budget_usd budget_usd task_budget",
        "thinking max_thinking_tokens effort include_partial_messages include_hook_events",
        "forward_subagent_text enable_file_checkpointing add_dirs mcp_servers strict_mcp_config",
        "agents hooks skills plugins sandbox settings setting_sources betas cwd env cli extra_args",
        "resume continue_conversation fork_session session_id resume_at resume_drops_turn",
        "returns returns_retries retries retry_effects permissions permission_timeout",
        "control_timeout start_timeout record post transport dialect name raise_handler_errors",
        "on_crash",
    )
    for name in line.split()
)


def policy(request):
    """A policy that can be pickled, as module functions can."""


def test_every_setting_has_a_field():
    """The fields are exactly the settings that were promised."""
    assert sorted(field.name for field in fields(Options)) == NAMES


def test_every_setting_is_documented():
    """help(Options) mentions each setting by name."""
    assert [name for name in NAMES if f"``{name}``" not in Options.__doc__] == []


def test_every_setting_is_checked():
    """Only the two settings that others define go unchecked."""
    assert set(NAMES) - set(CHECKERS) == {"returns", "transport"}


def test_the_defaults_are_valid():
    """Options() can be made, streams text and resumes after a crash."""
    options = Options()
    assert options.include_partial_messages is True
    assert options.on_crash == "resume"
    assert (options.control_timeout, options.start_timeout) == (60, 60)


def test_options_are_values():
    """Equal settings compare equal, lists or tuples alike, and survive pickling."""
    one = Options(model="sonnet", allowed_tools=["Read"], env={"A": "b"}, permissions=policy)
    two = Options(model="sonnet", allowed_tools=("Read",), env={"A": "b"}, permissions=policy)
    assert one == two
    assert one != two.replace(model="opus")
    assert pickle.loads(pickle.dumps(one)) == one


def test_options_are_frozen():
    """A field cannot be assigned, and changes to the caller's list have no effect."""
    given = ["Read"]
    options = Options(allowed_tools=given)
    given.append("Bash")
    assert list(options.allowed_tools) == ["Read"]
    with pytest.raises(FrozenInstanceError):
        options.model = "opus"


def test_replace_checks_again():
    """replace() returns changed options and refuses a contradiction with what was there."""
    options = Options(resume=SESSION)
    assert options.replace(fork_session=True).resume == SESSION
    with pytest.raises(UsageError, match="use one of them"):
        options.replace(continue_conversation=True)


def test_settings_are_given_by_name():
    """Positional values are refused with an example."""
    with pytest.raises(TypeError, match="by name"):
        Options("sonnet")


POSSIBLE = [
    ("model", "opus"),
    ("system_prompt", ""),
    ("system_prompt", {"type": "preset", "preset": "claude_code", "append": "Be brief."}),
    ("system_prompt", {"type": "file", "path": Path("prompt.txt")}),
    ("system_prompt", {"type": "custom", "prompt": "You are a bird."}),
    ("append_system_prompt", ""),
    ("thinking", "adaptive"),
    ("thinking", {"type": "enabled", "budget_tokens": 2000, "display": "omitted"}),
    ("max_thinking_tokens", 0),
    ("effort", "xhigh"),
    ("agents", {"a": {"description": "d", "prompt": "p"}}),
    ("agents", {"a": types.SimpleNamespace(description="d", prompt="p")}),
    ("skills", []),
    ("skills", "all"),
    ("skills", ["pdf", "my-plugin:review"]),
    ("plugins", [Path("here"), {"type": "local", "path": "there"}]),
    ("setting_sources", []),
    ("settings", Path("settings.json")),
    ("settings", {"env": {}}),
    ("permission_mode", "manual"),
    ("builtin_tools", []),
    ("builtin_tools", "default"),
    ("tools", [policy]),
    ("mcp_servers", "servers.json"),
    ("mcp_servers", {"git": {"command": "git-mcp"}}),
    ("task_budget", 1000),
    ("max_budget_usd", 0.01),
    ("env", {"A": "b", "PATH": None}),
    ("cli", ["node", Path("cli.js")]),
    ("extra_args", {"debug": None, "debug-file": "x", "n": 3}),
    ("control_timeout", None),
    ("post", "manual"),
    ("post", print),
    ("returns", {"type": "object"}),
    ("returns", int),
    ("dialect", "callback"),
]


@pytest.mark.parametrize(("name", "value"), POSSIBLE)
def test_possible_values_are_taken(name, value):
    """A possible value is kept, whatever form it has."""
    kept = getattr(Options(**{name: value}), name)
    if isinstance(value, list) and name != "cli":
        assert list(kept) == value
    elif name == "cli":
        assert kept == ("node", "cli.js")
    else:
        assert kept == value


def test_the_presets_of_the_official_sdk_are_taken():
    """Two dict forms mean what their short forms mean."""
    assert Options(builtin_tools={"type": "preset", "preset": "claude_code"}) == Options(
        builtin_tools="default"
    )
    assert Options(task_budget={"total": 500}) == Options(task_budget=500)


IMPOSSIBLE = [
    ("model", "", "not blank"),
    ("model", 4, "must be a str"),
    ("fallback_model", "  ", "not blank"),
    ("system_prompt", 3, "must be a dict"),
    ("system_prompt", {"type": "presett"}, "did you mean 'preset'"),
    ("system_prompt", {"type": "file"}, "'path': PATH"),
    ("system_prompt", {"type": "custom"}, "'prompt': TEXT"),
    ("thinking", "adaptiv", "did you mean 'adaptive'"),
    ("thinking", {"type": "enabled"}, "budget_tokens"),
    ("thinking", {"type": "adaptive", "display": "loud"}, "summarized"),
    ("max_thinking_tokens", -1, "at least 0"),
    ("max_thinking_tokens", True, "an int"),
    ("effort", "hihg", "did you mean 'high'"),
    ("betas", "one", r"must be a list: betas=\["),
    ("agents", {"a": {"prompt": "p"}}, "needs a 'description'"),
    ("agents", {"a": "do it"}, "must be a dict"),
    ("agents", ["a"], "must be a dict"),
    ("skills", "pdf", "must be a list"),
    ("skills", ["a,Bash"], "plain name"),
    ("skills", ["a) Bash(b"], "plain name"),
    ("skills", [""], "not blank"),
    ("plugins", [{"type": "remote", "path": "x"}], "'local'"),
    ("plugins", [{"type": "local"}], "a folder"),
    ("setting_sources", ["users"], "did you mean 'user'"),
    ("settings", 1, "a path"),
    ("sandbox", True, "must be a dict"),
    ("permission_mode", "acceptedit", "did you mean 'acceptEdits'"),
    ("permission_mode", "", "must be one of"),
    ("allowed_tools", "Read", r"allowed_tools=\['Read'"),
    ("allowed_tools", {"Read"}, "must be a list"),
    ("allowed_tools", None, "must be a list"),
    ("allowed_tools", [None], "each item of allowed_tools"),
    ("disallowed_tools", [1], "must be a str"),
    ("tools", ["Read"], "builtin_tools"),
    ("tools", "Read", "builtin_tools"),
    ("tools", [3], "a function"),
    ("mcp_servers", {"mcpServers": {}}, "inside 'mcpServers'"),
    ("mcp_servers", {"x": {"type": "sdk", "instance": 1}}, "tools="),
    ("mcp_servers", {"x": "cmd"}, "must be a dict"),
    ("mcp_servers", {"": {}}, "not blank"),
    ("strict_mcp_config", 1, "True or False"),
    ("permissions", "allow", "a function"),
    ("permission_timeout", 0, "above 0"),
    ("add_dirs", "/tmp", "must be a list"),
    ("max_turns", 0, "at least 1"),
    ("max_turns", 2.5, "an int"),
    ("max_budget_usd", 0, "above 0"),
    ("max_budget_usd", float("nan"), "above 0"),
    ("budget_usd", -1, "above 0"),
    ("budget_usd", "5", "a number"),
    ("task_budget", 0, "at least 1"),
    ("task_budget", {"totl": 1}, "'total'"),
    ("resume", "", "not blank"),
    ("resume", True, "must be a str"),
    ("session_id", "mine", "UUID"),
    ("session_id", uuid.UUID(SESSION), r"str\(uuid.uuid4\(\)\)"),
    ("continue_conversation", "yes", "True or False"),
    ("include_partial_messages", None, "True or False"),
    ("returns_retries", -1, "at least 0"),
    ("retries", None, "at least 0"),
    ("cwd", "", "a path"),
    ("cwd", b"x", "a path"),
    ("env", {"A": 1}, "must be a str, or None"),
    ("env", {"A=B": "c"}, "name of a variable"),
    ("env", ["A=B"], "must be a dict"),
    ("cli", [], "not empty"),
    ("cli", 3, "a path"),
    ("extra_args", {"--debug": None}, "without its dashes"),
    ("extra_args", {"debug --print": None}, "without its dashes"),
    ("extra_args", {"debug": True}, "None for a bare flag"),
    ("extra_args", {"model": "x"}, "use the option model="),
    ("extra_args", {"resume": "x"}, "use the option resume="),
    ("extra_args", {"output-format": "text"}, "sets it itself"),
    ("start_timeout", "60", "a number"),
    ("on_crash", "restart", "'resume', 'raise'"),
    ("on_crash", None, "must be one of"),
    ("name", "", "not blank"),
    ("record", 1, "a path"),
    ("post", "manuall", "did you mean 'manual'"),
    ("dialect", "cIi", "did you mean 'cli'"),
]


@pytest.mark.parametrize(("name", "value", "text"), IMPOSSIBLE)
def test_impossible_values_are_refused_with_advice(name, value, text):
    """An impossible value raises UsageError at once, names the setting and helps."""
    with pytest.raises(UsageError, match=text) as caught:
        Options(**{name: value})
    assert name in str(caught.value)


def test_a_secret_is_not_repeated_in_an_error():
    """The value of a variable never gets into the text of an error."""
    with pytest.raises(UsageError) as caught:
        Options(env={"KEY": b"hunter2"})
    assert "hunter2" not in str(caught.value)


def test_a_long_value_is_not_repeated_in_full():
    """An error text stays readable when the wrong value is huge."""
    with pytest.raises(UsageError) as caught:
        Options(allowed_tools="x" * 100_000)
    assert len(str(caught.value)) < 400


CONTRADICTIONS = [
    ({"resume": SESSION, "continue_conversation": True}, "use one of them"),
    ({"resume": SESSION, "session_id": SESSION}, "fork_session=True"),
    ({"continue_conversation": True, "session_id": SESSION}, "fork_session=True"),
    ({"fork_session": True}, "add resume=ID"),
    ({"resume_at": SESSION}, "add resume=ID"),
    ({"resume_at": SESSION, "continue_conversation": True}, "add resume=ID"),
    ({"resume": SESSION, "resume_drops_turn": SESSION}, "add resume_at=ID"),
    ({"thinking": "adaptive", "max_thinking_tokens": 5}, "twice"),
    ({"model": "opus", "fallback_model": "opus"}, "name another one"),
    ({"model": "opus", "fallback_model": "haiku, opus"}, "name another one"),
    (
        {"system_prompt": {"type": "preset", "append": "a"}, "append_system_prompt": "b"},
        "same setting",
    ),
    ({"permission_mode": "bypassPermissions", "permissions": policy}, "leave one of them out"),
    ({"retry_effects": True}, "retries=1"),
]


@pytest.mark.parametrize(("settings", "text"), CONTRADICTIONS)
def test_contradictions_are_refused(settings, text):
    """Settings that cannot be had at once are refused before anything starts."""
    with pytest.raises(UsageError, match=text):
        Options(**settings)


CONSISTENT = [
    {"resume": SESSION, "fork_session": True, "session_id": SESSION},
    {"continue_conversation": True, "fork_session": True},
    {"resume": SESSION, "resume_at": SESSION, "resume_drops_turn": SESSION},
    {"model": "opus", "fallback_model": "haiku"},
    {"system_prompt": "a", "append_system_prompt": "b"},
]


@pytest.mark.parametrize("settings", CONSISTENT)
def test_combinations_that_work_are_taken(settings):
    """Near neighbours of the contradictions are accepted."""
    options = Options(**settings)
    assert {name: getattr(options, name) for name in settings} == settings


UNKNOWN = [
    ("permision_mode", "did you mean permission_mode?"),
    ("alowed_tools", "did you mean allowed_tools?"),
    ("systemPrompt", "did you mean system_prompt?"),
    ("cli_path", "use cli="),
    ("can_use_tool", "client.on_permission"),
    ("output_format", "use returns="),
    ("max_buffer_size", "lines of any size"),
    ("stderr", "client.on_stderr"),
    ("resume_session_at", "use resume_at="),
    ("timeout", "pass it to ask"),
    ("xyzzy", r"help\(claude_sync.Options\)"),
]


@pytest.mark.parametrize(("name", "text"), UNKNOWN)
def test_an_unknown_name_is_told_the_right_one(name, text):
    """A name that does not exist is answered with the one that was meant, everywhere."""
    for attempt in (
        lambda: Options(**{name: 1}),
        lambda: Options().replace(**{name: 1}),
        lambda: options_from(None, {name: 1}),
        lambda: options_from(Options(), {name: 1}),
    ):
        with pytest.raises(UsageError, match=text) as caught:
            attempt()
        assert name in str(caught.value)


def test_overrides_win_over_options():
    """options_from() changes what is named and keeps the rest."""
    base = Options(model="opus", effort="low")
    assert options_from(base, {"model": "haiku"}) == Options(model="haiku", effort="low")
    assert options_from(base, {}) is base
    assert options_from(None, {"model": "haiku"}) == Options(model="haiku")


@pytest.mark.parametrize("wrong", ["sonnet", {"model": "sonnet"}, 3])
def test_options_must_be_options(wrong):
    """Something else in the place of options is a TypeError with an example."""
    with pytest.raises(TypeError, match=r"Client\(model='sonnet'\)"):
        options_from(wrong, {})


def test_importing_options_is_light():
    """The settings need no event loop, difflib, subprocess or tempfile."""
    # An empty stand-in for the package: what its other modules import is not the question.
    code = (
        "import sys, types; package = types.ModuleType('claude_sync'); "
        f"package.__path__ = [{str(Path(options_module.__file__).parent)!r}]; "
        "sys.modules['claude_sync'] = package; import claude_sync.options; "
        "print(sorted({'asyncio','difflib','subprocess','tempfile','uuid'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"
