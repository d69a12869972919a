"""From Options to argv, environment and the first request."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import stat
import types
from pathlib import Path
from typing import Any, Optional

import pytest

from claude_sync.engine.launch import command
from claude_sync.engine.launch.command import build_launch, creation_flags
from claude_sync.errors import BudgetExceeded, CliNotFound, UsageError
from claude_sync.options import SETTINGS, Options

SESSION = "6f1c1c0e-5d0e-4b5e-9a51-0a3a2c2f6c11"
OTHER = "0d5b3a52-94f4-4f0e-8f1c-3d8a3a1c9b22"

ALWAYS = [
    *("--output-format", "stream-json"),
    *("--input-format", "stream-json"),
    "--verbose",
    *("--permission-prompt-tool", "stdio"),
    "--replay-user-messages",
]
PARTIAL = "--include-partial-messages"


@pytest.fixture
def cli(tmp_path):
    """A file that passes for the CLI; nothing here starts it."""
    path = tmp_path / "claude"
    path.write_text("")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def launch(cli):
    """Build a launch in an empty environment; private files are removed at the end."""
    made = []

    def build(environ=None, windows=False, **settings):
        keywords = {
            name: settings.pop(name)
            for name in ("budget_left", "json_schema", "restart")
            if name in settings
        }
        keywords.update(keywords.pop("restart", {}))
        options = Options(**{"cli": [cli], **settings})
        made.append(build_launch(options, environ=environ or {}, windows=windows, **keywords))
        return made[-1]

    yield build
    for one in made:
        one.remove_temporary_files()


@pytest.fixture
def windows_launch(launch, monkeypatch):
    """The same by the rules of Windows, with a program that is found anyhow."""
    monkeypatch.setattr(command, "find_cli", lambda *_, **__: ["C:\\claude.exe"])
    return functools.partial(launch, windows=True)


def own_flags(launched):
    """The words of argv that are not always there."""
    return [word for word in launched.argv[1:] if word not in (*ALWAYS, PARTIAL)]


def test_the_fixed_part_is_always_there(launch, cli):
    """Without settings the command is the fixed flags and nothing else."""
    launched = launch()
    assert launched.argv == (cli, *ALWAYS, PARTIAL)
    assert launched.initialize == {}
    assert launched.cwd is None
    assert launched.temporary_files == ()


FLAGS = [
    ({"model": "opus"}, ["--model=opus"]),
    ({"model": "--verbose"}, ["--model=--verbose"]),
    ({"fallback_model": "haiku"}, ["--fallback-model=haiku"]),
    ({"system_prompt": None}, []),
    ({"system_prompt": ""}, ["--system-prompt="]),
    ({"system_prompt": "-x"}, ["--system-prompt=-x"]),
    ({"system_prompt": {"type": "custom", "prompt": "x"}}, ["--system-prompt=x"]),
    ({"system_prompt": {"type": "file", "path": Path("p.txt")}}, ["--system-prompt-file=p.txt"]),
    ({"system_prompt": {"type": "preset"}}, []),
    ({"system_prompt": {"type": "preset", "append": "x"}}, ["--append-system-prompt=x"]),
    ({"append_system_prompt": "a b"}, ["--append-system-prompt=a b"]),
    ({"append_system_prompt": ""}, ["--append-system-prompt="]),
    ({"thinking": "adaptive"}, ["--thinking=adaptive"]),
    ({"thinking": {"type": "disabled"}}, ["--thinking=disabled"]),
    (
        {"thinking": {"type": "enabled", "budget_tokens": 9, "display": "omitted"}},
        ["--max-thinking-tokens=9", "--thinking-display=omitted"],
    ),
    ({"max_thinking_tokens": 0}, ["--max-thinking-tokens=0"]),
    ({"effort": "low"}, ["--effort=low"]),
    ({"agent": "a"}, ["--agent=a"]),
    ({"betas": ["a", "b"]}, ["--betas=a,b"]),
    ({"agent": "reviewer"}, ["--agent=reviewer"]),
    ({"skills": "all"}, ["--allowedTools=Skill"]),
    ({"skills": []}, []),
    ({"skills": ["a", "b:c"]}, ["--allowedTools=Skill(a),Skill(b:c)"]),
    (
        {"skills": ["a"], "allowed_tools": ["Read"]},
        ["--allowedTools=Read,Skill(a)"],
    ),
    (
        {"plugins": ["one", {"type": "local", "path": "two"}]},
        ["--plugin-dir=one", "--plugin-dir=two"],
    ),
    ({"setting_sources": None}, []),
    ({"setting_sources": []}, ["--setting-sources="]),
    ({"setting_sources": ["user", "local"]}, ["--setting-sources=user,local"]),
    ({"settings": Path("s.json")}, ["--settings=s.json"]),
    ({"permission_mode": "plan"}, ["--permission-mode=plan"]),
    ({"allowed_tools": ["Read", "Bash(git *)"]}, ["--allowedTools=Read,Bash(git *)"]),
    ({"disallowed_tools": ["Bash"]}, ["--disallowedTools=Bash"]),
    ({"builtin_tools": []}, ["--tools="]),
    ({"builtin_tools": ["Read", "Grep"]}, ["--tools=Read,Grep"]),
    ({"builtin_tools": "default"}, ["--tools=default"]),
    ({"mcp_servers": "m.json"}, ["--mcp-config=m.json"]),
    ({"strict_mcp_config": True}, ["--strict-mcp-config"]),
    ({"add_dirs": ["-a", Path("b")]}, ["--add-dir=-a", "--add-dir=b"]),
    ({"max_turns": 3}, ["--max-turns=3"]),
    ({"max_budget_usd": 0.25}, ["--max-budget-usd=0.25"]),
    ({"budget_usd": 1}, []),
    ({"task_budget": {"total": 800}}, ["--task-budget=800"]),
    ({"resume": SESSION}, [f"--resume={SESSION}"]),
    ({"continue_conversation": True}, ["--continue"]),
    (
        {"resume": SESSION, "fork_session": True, "session_id": OTHER},
        [f"--resume={SESSION}", "--fork-session", f"--session-id={OTHER}"],
    ),
    (
        {"resume": SESSION, "resume_at": "u1", "resume_drops_turn": "u2"},
        [f"--resume={SESSION}", "--resume-session-at=u1", "--resume-drops-turn=u2"],
    ),
    ({"session_id": OTHER}, [f"--session-id={OTHER}"]),
    ({"include_hook_events": True}, ["--include-hook-events"]),
    ({"returns": {"type": "object"}}, ['--json-schema={"type": "object"}']),
    ({"returns": int}, []),
    (
        {"extra_args": {"debug": None, "debug-file": "-x", "limit": 3}},
        ["--debug", "--debug-file=-x", "--limit=3"],
    ),
    (
        {"agents": {"a": {"description": "d", "prompt": "p", "max_turns": 2, "model": None}}},
        ['--agents={"a": {"description": "d", "prompt": "p", "maxTurns": 2}}'],
    ),
]


@pytest.mark.parametrize(("settings", "flags"), FLAGS)
def test_a_setting_becomes_its_flags(launch, settings, flags, tmp_path, monkeypatch):
    """Each setting adds exactly its flags, and what is not set adds none."""
    monkeypatch.chdir(tmp_path)
    for name in ("s.json", "m.json"):
        (tmp_path / name).write_text("{}")
    assert own_flags(launch(**settings)) == flags


LOCAL = {
    "tools": [print],
    "hooks": {"PreToolUse": []},
    "permissions": print,
    "permission_timeout": 1,
    "budget_usd": 1,
    "returns_retries": 2,
    "retries": 1,
    "control_timeout": 1,
    "start_timeout": 1,
    "record": "x.jsonl",
    "post": print,
    "transport": object,
    "name": "n",
    "raise_handler_errors": True,
    "on_crash": "raise",
}


def test_settings_of_the_client_do_not_reach_the_cli(launch):
    """What only this library acts on changes nothing about the launch."""
    plain = dataclasses.replace(launch(), options=None)
    assert dataclasses.replace(launch(**LOCAL), options=None) == plain


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        (
            "callback",
            [
                *("--output-format", "stream-json"),
                *("--input-format", "stream-json"),
                *("--permission-prompt-tool", "stdio"),
                *("--verbose", PARTIAL),
            ],
        ),
        (
            "user-message",
            [
                *("-p", "--verbose"),
                *("--output-format", "stream-json"),
                *("--input-format", "stream-json"),
                *("--replay-user-messages", PARTIAL),
            ],
        ),
    ],
)
def test_a_dialect_has_its_own_words(launch, dialect, words):
    """Each has exactly the flags that it is described with."""
    assert list(launch(dialect=dialect).argv[1:]) == words


def test_every_flag_is_tried_here():
    """And every option that only this library acts on."""
    tried = {name for settings, _ in FLAGS for name in settings}
    flags = {name for name, setting in SETTINGS.items() if setting.flag}
    assert flags - tried == {"include_partial_messages"}


def test_partial_messages_can_be_turned_off(launch):
    """include_partial_messages=False leaves its flag out."""
    assert PARTIAL not in launch(include_partial_messages=False).argv


INITIALIZE = [
    ({"title": "Trees"}, {"title": "Trees"}),
    ({"title": "Trees", "restart": {"resume": SESSION}}, {}),
    ({"forward_subagent_text": True}, {"forwardSubagentText": True}),
    ({"skills": ["a"]}, {"skills": ["a"]}),
    ({"skills": []}, {"skills": []}),
    ({"skills": "all"}, {}),
    (
        {"system_prompt": {"type": "preset", "exclude_dynamic_sections": True}},
        {"excludeDynamicSections": True},
    ),
    (
        {"system_prompt": {"type": "custom", "prompt": "x", "snapshot": False}},
        {"systemPromptSnapshot": False},
    ),
]


@pytest.mark.parametrize(("settings", "body"), INITIALIZE)
def test_a_setting_becomes_part_of_initialize(launch, settings, body):
    """The first request carries what has no flag, and nothing else."""
    assert launch(**settings).initialize == body


def test_objects_serve_as_agents(launch):
    """An object with attributes is as good as a dict, and both spellings of a key are."""
    agent = types.SimpleNamespace(description="d", prompt="p", disallowed_tools=["Bash"])
    other = {"description": "d", "prompt": "p", "disallowedTools": ["Bash"]}
    assert launch(agents={"a": agent}).argv == launch(agents={"a": other}).argv


# Secrets and sizes.


def test_servers_go_into_a_private_file(launch):
    """A key in mcp_servers is in a file only the user can read, and not in argv."""
    servers = {"s": {"type": "http", "url": "u", "headers": {"Authorization": "hunter2"}}}
    launched = launch(mcp_servers=servers)
    (path,) = launched.temporary_files
    assert own_flags(launched) == [f"--mcp-config={path}"]
    assert json.loads(Path(path).read_text()) == {"mcpServers": servers}
    assert "hunter2" not in " ".join(launched.argv)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_private_files_are_private(launch):
    """The file has mode 0600 and its folder 0700."""
    (path,) = launch(settings={"env": {"A": "b"}}).temporary_files
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_private_files_can_be_removed(launch):
    """remove_temporary_files() leaves no file and no folder; twice is harmless."""
    launched = launch(settings={"a": 1}, mcp_servers={"s": {"command": "x"}})
    folders = {os.path.dirname(path) for path in launched.temporary_files}
    assert len(launched.temporary_files) == 2
    launched.remove_temporary_files()
    launched.remove_temporary_files()
    assert not any(map(os.path.exists, [*launched.temporary_files, *folders]))


def test_a_failed_launch_leaves_no_file(launch, monkeypatch, tmp_path):
    """What was written before something failed is removed again."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    with pytest.raises(UsageError, match="settings cannot be written"):
        launch(mcp_servers={"s": {"command": "x"}}, settings={"a": object()})
    assert list((tmp_path / "temp").iterdir()) == []


def test_json_in_place_of_a_path_becomes_a_file(launch):
    """Settings and servers given as JSON text are kept out of argv too."""
    launched = launch(settings='{"a": 1}', mcp_servers='{"mcpServers": {}}')
    assert sorted(Path(path).read_text() for path in launched.temporary_files) == [
        '{"a": 1}',
        '{"mcpServers": {}}',
    ]


@pytest.mark.parametrize("given", ["dict", "text", "path", "relative", "none"])
def test_the_sandbox_is_merged_into_the_settings(launch, tmp_path, given):
    """However the settings are given, the CLI gets one file with the sandbox in it."""
    (tmp_path / "s.json").write_text('{"a": 1, "sandbox": {"old": true}}')
    settings: Any = {
        "dict": {"a": 1},
        "text": '{"a": 1}',
        "path": tmp_path / "s.json",
        "relative": "s.json",
        "none": None,
    }[given]
    launched = launch(settings=settings, sandbox={"enabled": True}, cwd=tmp_path)
    (path,) = launched.temporary_files
    expected = {"sandbox": {"enabled": True}}
    if given != "none":
        expected["a"] = 1
    assert json.loads(Path(path).read_text()) == expected


@pytest.mark.parametrize("name", ["settings", "mcp_servers"])
@pytest.mark.parametrize("sandbox", [None, {"enabled": True}])
@pytest.mark.parametrize(
    "content", [None, "not json", "[1]", '{"permissions": {"deny": ["Bash",]}}']
)
def test_files_that_the_cli_would_ignore_are_refused(launch, tmp_path, content, sandbox, name):
    """Before the start, with the name of the file; a mistake in JSON with its place."""
    path = tmp_path / "s.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=r"s\.json") as caught:
        launch(**{name: "s.json"}, sandbox=sandbox, cwd=tmp_path)
    assert caught.value.option == name
    assert ("column" in str(caught.value)) == (content is not None and content != "[1]")


def test_servers_in_a_file_are_checked(launch, tmp_path):
    """As those of a dict are."""
    (tmp_path / "m.json").write_text('{"mcpServers": {"a": {"type": "htp", "url": "x"}}}')
    with pytest.raises(UsageError) as caught:
        launch(mcp_servers=tmp_path / "m.json")
    assert (caught.value.option, caught.value.nearest) == ("mcp_servers", "http")


def test_files_of_another_machine_are_not_looked_for(launch):
    """A transport of the program reads them, or not."""
    launched = launch(settings="far.json", mcp_servers="away.json", transport=object)
    assert own_flags(launched) == ["--settings=far.json", "--mcp-config=away.json"]


LONG = "ä" * 60_000  # 120,000 bytes
LONG_AGENTS = {"a": {"description": "d", "prompt": LONG}}


@pytest.mark.parametrize(
    ("settings", "option", "body"),
    [
        ({"append_system_prompt": LONG}, "append_system_prompt", {"appendSystemPrompt": LONG}),
        ({"agents": LONG_AGENTS}, "agents", {"agents": LONG_AGENTS}),
        ({"returns": {"title": LONG}}, "returns", {"jsonSchema": {"title": LONG}}),
    ],
)
def test_long_values_go_into_initialize(launch, settings, option, body):
    """A value too long for one argument travels in the first request instead."""
    launched = launch(**settings)
    assert own_flags(launched) == []
    assert launched.initialize == body


def test_a_long_system_prompt_goes_into_a_file(launch):
    """Every CLI reads the prompt from a file, however long it is."""
    launched = launch(system_prompt=LONG)
    (path,) = launched.temporary_files
    assert own_flags(launched) == [f"--system-prompt-file={path}"]
    assert Path(path).read_text(encoding="utf-8") == LONG
    assert launched.initialize == {}


def test_the_length_counts_in_bytes(launch, monkeypatch):
    """The border is where the system draws it: bytes, not characters."""
    monkeypatch.setattr(command, "LONGEST_ARGUMENT", 10)
    assert launch(append_system_prompt="a" * 10).initialize == {}
    assert launch(append_system_prompt="ä" * 6).initialize == {"appendSystemPrompt": "ä" * 6}


def test_servers_of_agents_stay_off_argv(launch):
    """An agent with servers of its own may hold keys and travels in the first request."""
    servers = [{"s": {"type": "http", "headers": {"X": "hunter2"}}}]
    agents = {"a": {"description": "d", "prompt": "p", "mcp_servers": servers}}
    launched = launch(agents=agents)
    assert own_flags(launched) == []
    assert launched.initialize["agents"]["a"]["mcpServers"] == servers


def test_windows_moves_the_largest_first(windows_launch):
    """Where the whole command line is limited, the largest values leave until it fits."""
    settings = {
        "append_system_prompt": "a" * 20_000,
        "returns": {"title": "b" * 25_000},
        "model": "opus",
    }
    launched = windows_launch(**settings)
    assert command.command_line_length(launched.argv) <= command.LONGEST_COMMAND_LINE


def test_a_command_line_too_long_for_windows_is_told(windows_launch):
    """What cannot be moved and does not fit is a UsageError that names the flag."""
    with pytest.raises(UsageError, match="shorten --allowedTools"):
        windows_launch(allowed_tools=["Bash(x)"] * 5_000)


def test_an_argument_too_long_for_linux_is_told(launch):
    """The same on POSIX, instead of "Argument list too long"."""
    with pytest.raises(UsageError, match="--allowedTools is too long"):
        launch(allowed_tools=["Bash(x)"] * 20_000)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"model": "a\0b"}, "--model has a NUL"),
        ({"append_system_prompt": "\ud800"}, "--append-system-prompt contains an invalid"),
        ({"returns": {"a": float("nan")}}, "returns cannot be written as JSON"),
        ({"agents": {"a": {"description": "d", "prompt": "p", "x": {1}}}}, "agents cannot"),
        ({"mcp_servers": {"s": {"command": "a", "x": object()}}}, "mcp_servers cannot"),
    ],
)
def test_values_that_cannot_be_passed_on_are_told(launch, settings, text):
    """What no command line or JSON can carry is a UsageError that names it."""
    with pytest.raises(UsageError, match=text):
        launch(**settings)


def test_paths_inside_json_are_written_as_text(launch):
    """A pathlib.Path in settings is what people mean by its text."""
    (path,) = launch(settings={"dir": Path("a")}).temporary_files
    assert json.loads(Path(path).read_text()) == {"dir": "a"}


# Restart.


def test_a_restart_only_resumes(launch):
    """After a crash the conversation is resumed: no fork, no new id, no going back."""
    launched = launch(
        resume=OTHER,
        fork_session=True,
        session_id=OTHER,
        resume_at="u1",
        resume_drops_turn="u2",
        effort="low",
        restart={"resume": SESSION},
    )
    assert own_flags(launched) == ["--effort=low", f"--resume={SESSION}"]


def test_a_restart_does_not_continue_the_last_conversation(launch):
    """continue_conversation=True could mean another conversation by now."""
    launched = launch(continue_conversation=True, restart={"resume": SESSION})
    assert own_flags(launched) == [f"--resume={SESSION}"]


def test_a_restart_repeats_what_was_set_meanwhile(launch):
    """The model, the mode and the rest of the budget replace those of the options."""
    launched = launch(
        model="opus",
        permission_mode="plan",
        max_budget_usd=5,
        restart={"model": "haiku", "permission_mode": "default", "budget_left": 1.5},
    )
    assert own_flags(launched) == [
        "--model=haiku",
        "--permission-mode=default",
        "--max-budget-usd=1.5",
    ]


def test_a_model_that_became_its_own_fallback_loses_the_fallback(launch):
    """The CLI refuses a fallback that is the model itself."""
    launched = launch(model="opus", fallback_model="haiku", restart={"model": "haiku"})
    assert own_flags(launched) == ["--model=haiku"]


def test_nothing_left_of_the_budget_is_told(launch):
    """With nothing left no CLI is started."""
    with pytest.raises(BudgetExceeded):
        launch(max_budget_usd=5, budget_left=0.0)


def test_a_resolved_schema_wins(launch):
    """json_schema= is what returns= was resolved to."""
    launched = launch(returns=int, json_schema={"type": "integer"})
    assert own_flags(launched) == ['--json-schema={"type": "integer"}']


# Folder and environment.


def test_the_folder_is_absolute(launch, tmp_path, monkeypatch):
    """A relative cwd is that of the program, and PWD tells the same."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path)
    launched = launch(cwd="project", environ={"PWD": "/elsewhere"})
    assert launched.cwd == os.path.join(os.getcwd(), "project")
    assert launched.environment["PWD"] == launched.cwd


@pytest.mark.parametrize(("name", "text"), [("gone", "does not exist"), ("file", "not a folder")])
def test_a_missing_folder_says_so(launch, tmp_path, name, text):
    """A wrong cwd is told as such, not as a missing CLI."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=f"{name}.* {text}"):
        launch(cwd=tmp_path / name)


def test_a_folder_of_another_machine_is_passed_on(launch):
    """With a transport of the program's own, nobody here can know whether it is there."""
    assert launch(cwd="far/away", transport=object).cwd == "far/away"


def test_the_options_of_a_launch_are_those_in_force(launch):
    """What has changed since they were given is in them, for transports that read no argv."""
    given = {"model": "opus", "fallback_model": "haiku,sonnet", "fork_session": True}
    given.update(resume=OTHER, session_id=SESSION, max_budget_usd=2.0, allowed_tools=["Read"])
    options = Options(transport=object, **given)
    assert launch(transport=object, **given).options == options.replace(
        cli=launch(transport=object).options.cli
    )
    changed = build_launch(
        options,
        resume=SESSION,
        model="sonnet",
        permission_mode="plan",
        budget_left=1.0,
        own_tools=["mcp__claude_sync__add"],
        json_schema={"type": "object"},
    ).options
    assert changed == Options(
        transport=object,
        resume=SESSION,
        model="sonnet",
        fallback_model="haiku",
        permission_mode="plan",
        max_budget_usd=1.0,
        allowed_tools=["Read", "mcp__claude_sync__add"],
        returns={"type": "object"},
    )


BASE = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}

ENVIRONMENTS: list[tuple[dict[str, str], dict[str, Optional[str]], dict[str, str]]] = [
    ({}, {}, {}),
    ({"HOME": "/h", "ANTHROPIC_API_KEY": "k"}, {}, {"HOME": "/h", "ANTHROPIC_API_KEY": "k"}),
    ({"CLAUDECODE": "1", "CLAUDE_CODE_SSE_PORT": "5", "CLAUDE_CODE_SESSION_ID": "x"}, {}, {}),
    ({"CLAUDE_CODE_CHILD_SESSION": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}, {}, {}),
    ({"CLAUDE_AGENT_SDK_VERSION": "1", "CLAUDE_AGENT_SDK_CLIENT_APP": "x"}, {}, {}),
    ({"CLAUDE_CONFIG_DIR": "/c"}, {}, {"CLAUDE_CONFIG_DIR": "/c"}),
    ({}, {"CLAUDECODE": "1"}, {"CLAUDECODE": "1"}),
    ({}, {"CLAUDE_CODE_ENTRYPOINT": "mine"}, {"CLAUDE_CODE_ENTRYPOINT": "mine"}),
    (
        {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "0"},
        {},
        {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "0"},
    ),
    ({"A": "1", "B": "2"}, {"A": "3", "B": None, "C": None}, {"A": "3"}),
]


@pytest.mark.parametrize(("inherited", "env", "expected"), ENVIRONMENTS)
def test_the_environment(launch, inherited, env, expected):
    """Inherited, without traces of another session, plus ours, and the caller wins."""
    assert launch(environ=inherited, env=env).environment == {**BASE, **expected}


def test_a_variable_of_ours_can_be_removed(launch):
    """env={NAME: None} also removes what this library would set."""
    launched = launch(env={"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": None})
    assert "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS" not in launched.environment


def test_file_checkpointing_is_a_variable(launch):
    """enable_file_checkpointing reaches the CLI through the environment."""
    name = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
    assert launch(enable_file_checkpointing=True).environment[name] == "true"
    assert name not in launch().environment


def test_the_application_is_named_in_a_variable(launch):
    """Its own, and not one that is inherited."""
    name = "CLAUDE_AGENT_SDK_CLIENT_APP"
    assert launch(client_app="app/1", environ={name: "other"}).environment[name] == "app/1"
    assert name not in launch(environ={name: "other"}).environment


def test_windows_names_of_variables_have_no_case(windows_launch):
    """On Windows env={"Path": ...} replaces PATH instead of standing beside it."""
    launched = windows_launch(
        environ={"PATH": "old", "TEMP": "t"}, env={"Path": "new", "temp": None}
    )
    assert launched.environment == {**BASE, "Path": "new"}


def test_the_environment_of_the_program_is_the_default(cli, monkeypatch):
    """environ=None inherits from the running program."""
    monkeypatch.setenv("A_VARIABLE_OF_THE_TEST", "yes")
    launched = build_launch(Options(cli=[cli]), windows=False)
    assert launched.environment["A_VARIABLE_OF_THE_TEST"] == "yes"


def test_the_cli_is_looked_for_in_the_environment_it_gets(cli):
    """env={"CLAUDE_CODE_PATH": ...} says where the CLI is."""
    options = Options(env={"CLAUDE_CODE_PATH": cli})
    assert build_launch(options, environ={}, windows=False).argv[0] == cli


def test_a_missing_cli_is_told(tmp_path):
    """The error of the search comes through."""
    with pytest.raises(CliNotFound, match="gone"):
        build_launch(Options(cli=tmp_path / "gone"), environ={}, windows=False)


def test_creation_flags():
    """On Windows no window and a process group of its own; elsewhere nothing."""
    assert creation_flags(True) == 0x08000000 | 0x00000200
    assert creation_flags(False) == 0
