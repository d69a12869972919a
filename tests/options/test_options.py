"""Options: which there are, which values they take, what goes together, what is derived."""

from __future__ import annotations

import datetime
import functools
import inspect
import pickle
import re
import types
import uuid
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import option_keywords
import pytest
from tables import each

import claude_sync
from claude_sync import Answer, Options, UsageError
from claude_sync.options import SETTINGS, options_from
from claude_sync.options.fields import FLAGS_OF_THE_LIBRARY
from claude_sync.options.options import FLAGS_WITH_AN_OPTION
from claude_sync.options.rules import KNOWN_ELSEWHERE
from claude_sync.permissions import policies
from claude_sync.testing import StandIn

SESSION = "6f1c1c0e-5d0e-4b5e-9a51-0a3a2c2f6c11"


def policy(request):
    """A policy that can be pickled, as module functions can."""


async def waits(request):
    """Nothing here awaits it."""


def yields(request):
    """Nothing here iterates over it."""
    yield request


def takes_nothing():
    """A handler gets an argument."""


class Waits:
    """An object that is called, and must be awaited."""

    async def __call__(self, request):
        """Too late."""


# What there is.


def test_what_is_known_of_each_option():
    """Each option has a field, and a line in help() that also tells which CLIs know it."""
    assert set(SETTINGS) == {field.name for field in fields(Options)}
    for name, setting in SETTINGS.items():
        assert setting.name == name and len(setting.doc) > 5 and "\n" not in setting.doc
        told = re.findall(r"\(CLI (.+)\)$", setting.doc)
        assert told == ([] if setting.since == "2.1" else [setting.since])
    options = Options()
    assert {name: getattr(options, name) for name in SETTINGS} == {
        name: setting.default for name, setting in SETTINGS.items()
    }
    assert (options.start_timeout, options.control_timeout, options.returns_retries) == (60, 60, 1)


def test_options_are_values():
    """Equal options compare equal, lists or tuples alike, and survive pickling."""
    one = Options(model="sonnet", allowed_tools=["Read"], env={"A": "b"}, permissions=policy)
    two = Options(model="sonnet", allowed_tools=("Read",), env={"A": "b"}, permissions=policy)
    assert one == two != two.replace(model="opus")
    assert pickle.loads(pickle.dumps(one)) == one
    given = ["Read"]
    options = Options(allowed_tools=given)
    given.append("Bash")
    assert options.allowed_tools == ("Read",)
    with pytest.raises(FrozenInstanceError):
        options.model = "opus"


def test_settings_are_given_by_name():
    """Positional values, and something else in the place of options, are a TypeError."""
    with pytest.raises(TypeError):
        Options("sonnet")
    for wrong in ("sonnet", {"model": "sonnet"}, 3):
        with pytest.raises(TypeError):
            options_from(wrong, {})


def test_overrides_win_and_are_checked():
    """They change what is named and keep the rest; a contradiction with the rest is refused."""
    base = Options(model="opus", resume=SESSION)
    assert options_from(base, {"model": "haiku"}) == Options(model="haiku", resume=SESSION)
    assert options_from(base, {}) is base
    with pytest.raises(UsageError):
        base.replace(continue_conversation=True)


@pytest.mark.parametrize("name", ["env", "settings", "mcp_servers"])
def test_secrets_are_not_shown(name):
    """Neither by repr() nor in the text or the data of an error."""
    good = {"mcp_servers": {"a": {"command": "hunter2"}}}.get(name, {"KEY": "hunter2"})
    assert "hunter2" not in repr(Options(**{name: good}))
    for wrong in (["hunter2"], {"a": {"type": b"hunter2"}}, {"K": b"hunter2", "": "hunter2"}):
        if name == "settings" and isinstance(wrong, dict):
            continue
        with pytest.raises(UsageError) as caught:
            Options(**{name: wrong})
        assert "hunter2" not in f"{caught.value} {vars(caught.value)}"


# Values.

POSSIBLE = {
    "system_prompt": [
        *("", {"type": "preset", "preset": "claude_code", "append": "Be brief."}),
        *({"type": "file", "path": Path("prompt.txt")}, {"type": "custom", "prompt": ""}),
    ],
    "append_system_prompt": [""],
    "thinking": ["adaptive", {"type": "enabled", "budget_tokens": 2000, "display": "omitted"}],
    "max_thinking_tokens": [0],
    "agents": [
        {"a": {"description": "d", "prompt": "p"}},
        {"a": types.SimpleNamespace(description="d", prompt="p")},
    ],
    "skills": [(), "all", ("pdf", "my-plugin:review")],
    "setting_sources": [()],
    "settings": [Path("settings.json"), '{"env": {}}', {"env": {}}],
    "permission_mode": ["manual"],
    "allowed_tools": [
        ("Read", "Bash(git *)", "mcp__server", "mcp__a__*", "Bash(a (b))"),
        ("Read,Grep", "Bash()", "TheToolOfAPlugin", "Bash(echo \\))"),
    ],
    "disallowed_tools": [("TaskList", "LSP")],
    "builtin_tools": [(), "default"],
    "tools": [(policy,)],
    "mcp_servers": [
        *("servers.json", {"a": {"command": "x", "args": ["y"], "env": {"A": "b"}}}),
        {"a": {"type": "stdio", "command": "x"}},
        {"a": {"type": "http", "url": "https://x", "headers": {"A": "b"}}},
        {"a": {"type": "sse", "url": "https://x"}},
        {"a": {"type": "streamable-http", "url": "https://x"}},
    ],
    "max_budget_usd": [0.01],
    "env": [{"A": "b", "PATH": None}],
    "extra_args": [{"debug": None, "debug-file": "x", "n": 3}],
    "control_timeout": [None],
    "task_budget": [1],
    "max_turns": [2**53 - 1],
    "post": ["manual", print],
    "permissions": [policies.read_only, functools.partial(lambda rules, request: None, "rules")],
    "returns": [{"type": "object"}, int],
    "transport": [object, claude_sync.Transport()],
}


@each(("name", "value"), [(name, value) for name in POSSIBLE for value in POSSIBLE[name]])
def test_possible_values_are_kept(name, value):
    """In the form they have; lists as tuples."""
    given = list(value) if isinstance(value, tuple) else value
    assert getattr(Options(**{name: given}), name) == value


def test_other_forms_of_the_same_value():
    """Dict forms of the official SDK mean what the short forms mean."""
    preset = {"type": "preset", "preset": "claude_code"}
    assert Options(builtin_tools=preset) == Options(builtin_tools="default")
    assert Options(task_budget={"total": 500}) == Options(task_budget=500)
    assert Options(plugins=[{"type": "local", "path": "a"}]) == Options(plugins=["a"])
    assert Options(cli=["node", Path("cli.js")]).cli == ("node", "cli.js")


def test_a_stand_in_is_not_its_command():
    """The error says what is."""
    with pytest.raises(UsageError, match=r"cli .* not StandIn\(.*Pass its \.command\."):
        Options(cli=StandIn())


# Values that no option of that name can have.
IMPOSSIBLE = {
    "model": ["", 4],
    "system_prompt": [3, {"append": "a"}, {"type": "file"}, {"type": "custom"}],
    "thinking": [{"type": "enabled"}, {"type": "adaptive", "display": "loud"}],
    "max_thinking_tokens": [-1, True],
    "betas": ["one"],
    "agents": [{"a": {"prompt": "p"}}, {"a": "do it"}],
    "skills": ["pdf", ["a,Bash"], ["a) Bash(b"]],
    "plugins": [[{"type": "remote", "path": "x"}], [{"type": "local"}]],
    "settings": [1, "{bad json", '{"a": 1,}', '{"a": NaN}'],
    "sandbox": [True],
    "allowed_tools": ["Read", "x" * 100_000, {"Read"}, None, [None], ["(x)"], ["Bash (git *)"]],
    "disallowed_tools": [["Bash(a (b) c)"]],
    "tools": [["Read"], "Read", [3]],
    "mcp_servers": [
        *({"mcpServers": {}}, {"x": {"type": "sdk", "instance": 1}}, {"x": "cmd"}),
        *({"": {"command": "x"}}, {"claude_sync": {"command": "x"}}, {"a": {}}),
        *({"a": {"command": 5}}, {"a": {"command": "x", "args": "y"}}),
        *({"a": {"command": "x", "env": {"A": 1}}}, {"a": {"type": "nope"}}),
        *({"a": {"type": "http"}}, {"a": {"url": "https://x"}}, '{"mcpServers": }'),
    ],
    "strict_mcp_config": [1],
    "permissions": ["allow", waits, Waits(), yields, takes_nothing, policies.allow_tools],
    "permission_timeout": [0],
    "hooks": [[print]],
    "add_dirs": ["/tmp"],
    "max_turns": [0, 2.5, 2**53, 10**400],
    "max_budget_usd": [0, float("nan"), 10**400],
    "budget_usd": ["5"],
    "task_budget": [{"totl": 1}],
    "resume": [True],
    "session_id": ["mine", uuid.UUID(SESSION)],
    "include_partial_messages": [None],
    "returns_retries": [-1],
    "retries": [None],
    "verbatim": ["no"],
    "cwd": ["", b"x"],
    "env": [{"A": 1}, {"A=B": "c"}, {"A": "\0"}, {"A": "\ud800"}, {"\ud800": "a"}, ["A=B"]],
    "cli": [[], 3],
    "extra_args": [{"--debug": None}, {"debug --print": None}, {"debug": True}],
    "start_timeout": ["60", float("nan"), datetime.timedelta(seconds=5)],
    "on_crash": ["restart", None],
    "name": [""],
    "record": [1],
    "post": [waits, yields, takes_nothing],
    "transport": [5],
}
# The same, with the value that was probably meant.
MEANT = [
    ("system_prompt", {"type": "presett"}, "preset"),
    ("thinking", "adaptiv", "adaptive"),
    ("effort", "hihg", "high"),
    ("setting_sources", ["users"], "user"),
    ("permission_mode", "acceptedit", "acceptEdits"),
    ("allowed_tools", ["Writte(a)"], "Write"),
    ("disallowed_tools", ["Bash("], "Bash"),
    ("disallowed_tools", ["Bash(rm *"], "Bash"),
    ("disallowed_tools", ["Bash)"], "Bash"),
    ("disallowed_tools", ["Bash(rm *)x"], "Bash"),
    ("disallowed_tools", ["Bash(rm *), bash"], "Bash"),
    ("disallowed_tools", ["Read\nWrite"], "Write"),
    ("disallowed_tools", ["bash"], "Bash"),
    ("disallowed_tools", ["bash(rm *)"], "Bash"),
    ("disallowed_tools", ["Read", "webfetch"], "WebFetch"),
    ("builtin_tools", ["read"], "Read"),
    ("mcp_servers", {"a": {"type": "htp", "url": "x"}}, "http"),
    ("post", "manuall", "manual"),
    ("dialect", "cIi", "cli"),
]


EVERY = [(name, value, None) for name, values in IMPOSSIBLE.items() for value in values]


@each(("name", "value", "meant"), [*EVERY, *MEANT])
def test_impossible_values_are_refused(name, value, meant):
    """At once, with the option in the text and in the data, and with the nearest right value."""
    with pytest.raises(UsageError) as caught:
        Options(**{name: value})
    error = caught.value
    assert (error.option, error.nearest) == (name, meant)
    assert name in str(error) and (meant or "") in str(error)
    assert len(str(error)) < 400


@each("value", [Answer("Oslo"), types.SimpleNamespace(session_id=SESSION)])
def test_what_has_the_id_of_a_conversation_is_not_the_id(value):
    """The error says where the id is; the text of an answer would be looked for in vain."""
    with pytest.raises(UsageError, match=r"resume must be .* \(pass its \.session_id\)"):
        Options(resume=value)


def test_the_place_of_a_mistake_in_json_is_told():
    """A line and a column."""
    with pytest.raises(UsageError, match="line 2 column"):
        Options(settings='{"a": 1,\n "b": 2, }')


CONTRADICTIONS = [
    ({"resume": SESSION, "continue_conversation": True}, "resume"),
    ({"resume": SESSION, "session_id": SESSION}, "session_id"),
    ({"continue_conversation": True, "session_id": SESSION}, "session_id"),
    ({"fork_session": True}, "fork_session"),
    ({"resume_at": SESSION}, "resume_at"),
    ({"resume_at": SESSION, "continue_conversation": True}, "resume_at"),
    ({"resume": SESSION, "resume_drops_turn": SESSION}, "resume_drops_turn"),
    ({"thinking": "adaptive", "max_thinking_tokens": 5}, "thinking"),
    ({"model": "opus", "fallback_model": "haiku, opus"}, "fallback_model"),
    (
        {"system_prompt": {"type": "preset", "append": "a"}, "append_system_prompt": "b"},
        "append_system_prompt",
    ),
    ({"permission_mode": "bypassPermissions", "permissions": policy}, "permissions"),
    (
        {"extra_args": {"dangerously-skip-permissions": None}, "permissions": policy},
        "permissions",
    ),
    ({"retry_effects": True}, "retry_effects"),
]
CONSISTENT = [
    {"resume": SESSION, "fork_session": True, "session_id": SESSION},
    {"continue_conversation": True, "fork_session": True},
    {"resume": SESSION, "resume_at": SESSION, "resume_drops_turn": SESSION},
    {"model": "opus", "fallback_model": "haiku"},
    {"system_prompt": "a", "append_system_prompt": "b"},
]


@each(("given", "option"), CONTRADICTIONS)
def test_contradictions_are_refused(given, option):
    """Options that cannot be had at once are refused before anything starts."""
    with pytest.raises(UsageError) as caught:
        Options(**given)
    assert caught.value.option == option


@each("given", CONSISTENT)
def test_combinations_that_work_are_taken(given):
    """Near neighbours of the contradictions are accepted."""
    options = Options(**given)
    assert {name: getattr(options, name) for name in given} == given


@each("dialect", ["callback", "user-message"])
def test_a_dialect_refuses_what_it_has_no_words_for(dialect):
    """That is what only the greeting of real CLIs carries; what has a flag passes."""
    for given in ({"skills": ["pdf"]}, {"title": "T"}, {"tools": [print]}):
        with pytest.raises(UsageError, match="has no words for"):
            Options(dialect=dialect, **given)
    agents = {"a": {"description": "d", "prompt": "p"}}
    assert Options(dialect=dialect, agents=agents, skills="all", hooks={}).dialect == dialect


# Names.

UNKNOWN = [
    ("permision_mode", "permission_mode"),
    ("alowed_tools", "allowed_tools"),
    ("systemPrompt", "system_prompt"),
    ("xyzzy", None),
]


@each(("name", "meant"), UNKNOWN)
def test_an_unknown_name_is_answered_with_the_right_one(name, meant):
    """Wherever it is given."""
    for attempt in (
        lambda: Options(**{name: 1}),
        lambda: Options().replace(**{name: 1}),
        lambda: claude_sync.Client(Options(), **{name: 1}),
        lambda: claude_sync.ask("hello", **{name: 1}),
    ):
        with pytest.raises(UsageError) as caught:
            attempt()
        assert (caught.value.option, caught.value.nearest) == (name, meant)


@each("name", sorted(KNOWN_ELSEWHERE))
def test_names_of_other_libraries_are_explained(name):
    """The error says what to write here, and every option that it names exists."""
    assert name not in SETTINGS
    with pytest.raises(UsageError) as caught:
        Options(**{name: 1})
    assert KNOWN_ELSEWHERE[name] in str(caught.value)
    words = KNOWN_ELSEWHERE[name].replace(",", " ").split()
    assert {word.partition("=")[0] for word in words if "=" in word} <= set(SETTINGS)


@each(
    ("flag", "name"), [*FLAGS_WITH_AN_OPTION.items(), *dict.fromkeys(FLAGS_OF_THE_LIBRARY).items()]
)
def test_a_flag_cannot_be_given_twice(flag, name):
    """extra_args refuses what an option is for, and names it, and what the library sets."""
    with pytest.raises(UsageError, match=f"{name}=" if name else "library") as caught:
        Options(extra_args={flag: "x"})
    assert caught.value.option == "extra_args"


# What is derived from the fields.


def test_the_keywords_for_checkers_are_generated():
    """The file is what the generator makes."""
    assert option_keywords.TARGET.read_text(encoding="utf-8") == option_keywords.keywords(), (
        "run python tests/option_keywords.py"
    )


TAKES_OPTIONS = ["Client", "ask", "map", "Pool", "Options"]


@pytest.mark.parametrize("name", TAKES_OPTIONS)
def test_signatures_name_every_option(name):
    """inspect.signature() has names where the source has ``**overrides``."""
    parameters = inspect.signature(getattr(claude_sync, name)).parameters
    assert set(SETTINGS) <= set(parameters)
    assert not [each for each in parameters.values() if each.kind is each.VAR_KEYWORD]
    if name != "Options":
        assert {"on_text", "on_permission"} <= set(parameters)
    if name == "ask":
        assert {"timeout", "attach", "raise_on_error"} <= set(parameters)


def test_a_subclass_has_the_signature_of_its_own_init():
    """It takes what it says."""

    class Mine(claude_sync.Client):
        def __init__(self, tenant):
            super().__init__(name=tenant)

    assert list(inspect.signature(Mine).parameters) == ["tenant"]


COMPLETIONS = [
    ("claude_sync.Client(mod", "model="),
    ("claude_sync.ask('x', ti", "timeout="),
    ("claude_sync.ask('x', on_te", "on_text="),
    ("claude_sync.map([], fall", "fallback_model="),
    ("claude_sync.Pool(2, mod", "model="),
]


@each(("typed", "offered"), COMPLETIONS)
def test_names_of_options_complete(typed, offered):
    """Jedi, which is what IPython's TAB asks, offers them."""
    jedi = pytest.importorskip("jedi")
    found = jedi.Interpreter(typed, [{"claude_sync": claude_sync}]).complete()
    assert offered in [each.name for each in found]
