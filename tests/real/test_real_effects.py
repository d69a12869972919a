"""
Every option that is sent has its effect: on what the model gets, or on what the CLI says.

Three clients answer a question: one with everything set, one with nothing, and one with the
options that take things away. An effect is there with the option and not without it.
"""

from __future__ import annotations

import json
import queue
import re

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync.options import SETTINGS
from claude_sync.testing.model import failure, text, tool_use

MODEL = "claude-test-1"
# With a model that they do not know CLIs think as much as they like.
THINKING_MODEL = "claude-sonnet-4-5-20250929"
# Options whose effect other files of this folder show, on each CLI that knows them.
ELSEWHERE = {
    *("resume", "continue_conversation", "fork_session", "session_id"),  # test_real_options
    *("resume_at", "resume_drops_turn"),  # test_real_sessions
    "returns",  # test_real_returns
    "enable_file_checkpointing",  # test_real_controls
    "verbatim",
    "cli",  # every test
}
SKILL = "---\nname: {0}\ndescription: the {0} skill\n---\nDo {0}."
PLUGIN = {"name": "plug", "description": "d", "version": "1.0.0", "author": {"name": "a"}}


def add(a: int) -> int:
    """Add one."""
    return a + 1


@pytest.fixture
def project(tmp_path):
    """A project with instructions, skills, a server and a plugin; and a folder beside it."""
    files = {
        "project/CLAUDE.md": "the word of the project is walnut",
        "project/.claude/skills/alpha/SKILL.md": SKILL.format("alpha"),
        "project/.claude/skills/beta/SKILL.md": SKILL.format("beta"),
        "project/.mcp.json": json.dumps({"mcpServers": {"projects": {"command": "false"}}}),
        "plug/.claude-plugin/plugin.json": json.dumps(PLUGIN),
        "plug/commands/plugged.md": "---\ndescription: d\n---\nSay plugged.",
        "beside/note.txt": "nota bene",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "project"


class Seen:
    """What a client with some options has done with a question that reads, runs and delegates."""

    def __init__(self, client, model, project):
        self.kinds, self.subtypes, self.inits, self.forwarded = set(), set(), [], []
        client.on_message(self.note)
        client.on_stream_event(self.note)
        note = str(project.parent / "beside" / "note.txt")
        helper = {"description": "d", "prompt": "help out", "subagent_type": "helper"}
        model.forget()
        model.when("hello there").reply(
            [tool_use("Read", {"file_path": note}), tool_use("Bash", {"command": "touch made"})]
        ).then_reply([tool_use("Task", helper)]).then_reply("done")
        self.answer = client.ask("hello there", timeout=PATIENCE)
        self.request = model.wait_for_request("hello there")
        self.body = json.dumps(self.request.body)
        self.output = self.request.body.get("output_config", {})
        self.init = self.inits[0]
        results = [result for _, result in self.answer.tool_uses]
        self.read, self.made = (not result.is_error for result in results[:2])

    def note(self, message):
        """Keep what the rows look at."""
        self.kinds.add(message.type)
        self.subtypes.add(getattr(message, "subtype", None))
        if isinstance(message, claude_sync.Init):
            self.inits.append(message)
        if isinstance(message, claude_sync.Assistant) and message.parent_tool_use_id:
            self.forwarded.append(message.text)

    def header(self, name):
        """A header of the request."""
        found = {key.lower(): value for key, value in self.request.headers.items()}
        return found.get(name, "")

    def names(self, field):
        """The names of servers or plugins."""
        return {each["name"] for each in getattr(self.init, field)}


# What is set, with its effect.
ADDED = {
    "model": (MODEL, lambda seen: seen.request.model == MODEL),
    "system_prompt": ("You are a lighthouse.", lambda seen: "lighthouse" in seen.request.system),
    "append_system_prompt": ("Always rhyme.", lambda seen: "rhyme" in seen.request.system),
    "effort": ("low", lambda seen: seen.output.get("effort") == "low"),
    "betas": (
        ["context-1m-2025-08-07"],
        lambda seen: "context-1m-2025-08-07" in seen.header("anthropic-beta"),
    ),
    "agents": (
        {"helper": {"description": "helps", "prompt": "You help."}},
        lambda seen: "helper" in seen.init.agents,
    ),
    "plugins": (["../plug"], lambda seen: "plug" in seen.names("plugins")),
    "settings": (
        {"permissions": {"deny": ["Glob", "ReportFindings"]}, "hooks": {}},
        lambda seen: not {"Glob", "ReportFindings"} & set(seen.request.tools),
    ),
    "permission_mode": ("acceptEdits", lambda seen: seen.init.permission_mode == "acceptEdits"),
    "allowed_tools": (["Bash(touch:*)"], lambda seen: seen.made),
    "disallowed_tools": (["Write"], lambda seen: "Write" not in seen.request.tools),
    "tools": ([add], lambda seen: "mcp__claude_sync__add" in seen.request.tools),
    "mcp_servers": (
        {"mine": {"command": "false"}},
        lambda seen: "mine" in seen.names("mcp_servers"),
    ),
    "strict_mcp_config": (True, lambda seen: "projects" not in seen.names("mcp_servers")),
    "add_dirs": (["../beside"], lambda seen: seen.read),
    "task_budget": (30_000, lambda seen: "task_budget" in seen.output),
    "include_hook_events": (True, lambda seen: "hook_started" in seen.subtypes),
    "forward_subagent_text": (True, lambda seen: "echo: help out" in seen.forwarded),
    "client_app": ("app/1.2", lambda seen: "client-app/app/1.2" in seen.header("user-agent")),
    "env": (
        {"ANTHROPIC_CUSTOM_HEADERS": "X-Mine: yes"},
        lambda seen: seen.header("x-mine") == "yes",
    ),
    "title": ("The Title", lambda seen: "session_title_changed" in seen.subtypes),
}
# Options that take away.
REMOVED = {
    "setting_sources": ([], lambda seen: "walnut" not in seen.body),
    "builtin_tools": (["Read", "Bash"], lambda seen: "Edit" not in seen.request.tools),
    "include_partial_messages": (False, lambda seen: "stream_event" not in seen.kinds),
    "thinking": ("disabled", lambda seen: "thinking" not in seen.request.body),
    "extra_args": (
        {"disable-slash-commands": None},
        lambda seen: "compact" not in seen.init.slash_commands,
    ),
}
HOOKS = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "true"}]}]}


def known(cli, table):
    """The rows that this CLI knows."""
    return {name: row for name, row in table.items() if cli.is_new or SETTINGS[name].since == "2.1"}


@pytest.fixture
def seen_with(client_of, model, project):
    """Make a client with some options and have it answer."""

    def make(rows):
        given = {name: value for name, (value, _) in rows.items()}
        settings = given.setdefault("settings", {})
        given["settings"] = {**settings, "enableAllProjectMcpServers": True, "hooks": HOOKS}
        given.setdefault("model", MODEL)
        client = client_of(cwd=project, **given)
        seen = Seen(client, model, project)
        client.close()
        return seen

    return make


def test_options_have_their_effect(seen_with, cli):
    """Each of them on what it is for, and not without it."""
    added, removed = known(cli, ADDED), known(cli, REMOVED)
    with_all, with_none, with_less = seen_with(added), seen_with({}), seen_with(removed)
    failed = []
    for rows, with_it in ((added, with_all), (removed, with_less)):
        for name, (_, has_effect) in rows.items():
            is_always = name == "model"  # each of them has one
            if not has_effect(with_it) or (has_effect(with_none) and not is_always):
                failed.append((name, has_effect(with_it), has_effect(with_none)))
    assert failed == []


def test_the_conversation_is_with_an_agent(client_of, model, caplog):
    """Its prompt takes the place of the CLI's own. The CLI passes over a wrong name; we say so."""
    agents = {"keeper": {"description": "d", "prompt": "You keep the lighthouse."}}
    client_of(agents=agents, agent="keeper").ask("who are you?", timeout=PATIENCE)
    assert "keep the lighthouse" in model.wait_for_request("who are you?").system
    assert caplog.messages == []
    client = client_of(agents=agents, agent="Keeper")
    for question in ("and you?", "and now?"):
        client.ask(question, timeout=PATIENCE)
    (told,) = caplog.messages
    assert "no agent 'Keeper'" in told
    assert "keeper" in told


def test_skills_that_are_not_named_are_hidden(client_of, model, project, new_cli):
    """No other is listed or can be used; 2.1.29 hides none."""
    client = client_of(cwd=project, skills=["alpha"])
    model.when("use them").reply(
        [tool_use("Skill", {"skill": name}) for name in ("alpha", "beta")]
    ).then_reply("done")
    answer = client.ask("use them", timeout=PATIENCE)
    assert [result.is_error for _, result in answer.tool_uses] == [False, True]
    body = json.dumps(model.wait_for_request("use them").body)
    assert "alpha skill" in body and "beta skill" not in body


def test_limits_end_a_turn(client_of, model):
    """max_turns= after one step; max_budget_usd= once so much is spent. Thinking has a budget."""
    limits = {"max_turns": 1, "max_budget_usd": 1.0, "max_thinking_tokens": 2048}
    client = client_of(allowed_tools=["Bash"], model=THINKING_MODEL, **limits)
    model.when("step by step").reply([tool_use("Bash", {"command": "true"})])
    with pytest.raises(claude_sync.MaxTurnsReached):
        client.ask("step by step", timeout=PATIENCE)
    thinking = model.wait_for_request("step by step").body["thinking"]
    assert thinking["budget_tokens"] == 2048
    usage = {"input_tokens": 2_000_000, "output_tokens": 500_000}
    model.when(re.compile("expensive")).reply(text("so"), usage=usage)
    with pytest.raises(claude_sync.BudgetExceeded):
        client.ask("expensive 1", timeout=PATIENCE)
        client.ask("expensive 2", timeout=PATIENCE)


def test_a_model_that_is_overloaded_is_replaced(client_of, model, cli):
    """By fallback_model=; 2.1.29 only ends the turn, and only with a model that it knows."""
    first = "claude-opus-4-5-20251101"
    client = client_of(model=first, fallback_model=MODEL)
    busy = [failure(529), text("fine")]
    model.when("any room").reply(lambda request: busy[request.model != first])
    if cli.is_new:
        assert client.ask("any room", timeout=PATIENCE) == "fine"
        assert model.requests[-1].model == MODEL
    else:
        with pytest.raises(claude_sync.ApiError, match=f"fallback triggered.*{MODEL}"):
            client.ask("any room", timeout=PATIENCE)


def test_instructions_for_the_plan_mode(client_of, model, new_cli):
    """They reach the model in that mode, and only then."""
    client = client_of(plan_mode_instructions="Plan as a lighthouse.")
    for mode, said in (("default", False), ("plan", True)):
        client.set_permission_mode(mode)
        client.ask(f"in the mode {mode}", timeout=PATIENCE)
        body = json.dumps(model.wait_for_request(f"in the mode {mode}").body)
        assert ("as a lighthouse" in body) == said


def test_what_to_ask_next_is_suggested(client_of, model, new_cli):
    """A message after the second answer, which costs a request; else there is none."""
    suggested = queue.Queue()

    model.when(re.compile("ONLY the suggestion")).reply("run the tests")
    client = client_of(
        prompt_suggestions=True, on_prompt_suggestion=lambda told: suggested.put(told.suggestion)
    )
    for question in ("question one", "question two"):
        client.ask(question, timeout=PATIENCE)
    assert suggested.get(timeout=PATIENCE) == "run the tests"


def test_the_sandbox_is_a_setting(client_of, new_cli):
    """Merged with the other settings; 2.1.29 does not tell what holds."""
    client = client_of(sandbox={"enabled": True}, settings={"env": {"A": "b"}})
    client.ask("hello", timeout=PATIENCE)
    effective = client.get_settings().effective
    assert (effective["sandbox"], effective["env"]) == ({"enabled": True}, {"A": "b"})


def test_every_option_that_is_sent_is_here():
    """Or in another file, which is named."""
    sent = {name for name, setting in SETTINGS.items() if setting.kept == "cli"}
    here = {*ADDED, *REMOVED, "skills", "max_turns", "max_budget_usd", "max_thinking_tokens"}
    here |= {"agent", "fallback_model", "plan_mode_instructions", "prompt_suggestions", "sandbox"}
    assert not sent - here - ELSEWHERE
