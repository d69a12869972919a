"""What one rule matches, asked strictly and asked generously."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each

from claude_sync.errors import UsageError
from claude_sync.permissions import policies
from claude_sync.permissions.commands import text_glob
from claude_sync.permissions.globs import MANY
from claude_sync.permissions.rules import ToolUse, parse_rule, parse_rules

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


def answers(rule, tool, **fields):
    """Whether a rule allows a use of a tool, and whether it may mean it."""
    use = ToolUse(tool, fields, "/")
    parsed = parse_rule(rule)
    return parsed.allows(use), parsed.may_match(use)


@each(("rule", "tool"), CASES["rules and their tools"])
def test_a_rule_covers_its_tools(rule, tool):
    """By name, by family, or by server."""
    assert answers(rule, tool) == (True, True)


@each(("rule", "tool"), CASES["rules and other tools"])
def test_a_rule_covers_no_other_tools(rule, tool):
    """A likeness of names means nothing."""
    assert answers(rule, tool) == (False, False)


@each(
    ("rule", "tool"),
    [
        ("mcp__a", "mcp__a__b__c"),
        ("mcp__a", "mcp__a___b"),
        ("mcp__a__*", "mcp__a__b__c"),
        ("mcp__a__b", "mcp__a__b__c"),
    ],
)
def test_an_ambiguous_name_is_denied_but_not_allowed(rule, tool):
    """The separator may belong to the name of the server, or to that of the tool."""
    assert answers(rule, tool) == (False, True)


@each(("rule", "advice"), CASES["wrong rules and the advice"])
def test_a_wrong_rule_is_refused_with_advice(rule, advice):
    """The text says what to write instead."""
    with pytest.raises(UsageError, match=advice):
        parse_rule(rule)


def test_a_rule_shows_its_text():
    """As it was written."""
    assert repr(parse_rule("Bash(git *)")) == "Rule('Bash(git *)')"


@each(("rule", "command", "allowed"), CASES["rules, commands and whether they are allowed"])
def test_a_command_is_compared_with_a_pattern(rule, command, allowed):
    """A wildcard is any text; everything else stands for itself."""
    assert answers(rule, "Bash", command=command)[0] is allowed


@each(("rule", "command"), CASES["rules and commands that they deny"])
def test_a_deny_rule_sees_through_the_way_it_is_written(rule, command):
    """Quotes, expansions and redirections do not hide a command."""
    assert answers(rule, "Bash", command=command)[1]


def test_a_deny_rule_leaves_other_commands_alone():
    """An expansion in another place is no reason."""
    assert not answers("Bash(git push *)", "Bash", command="git add $X *.py")[1]
    assert not answers("Bash(npm publish *)", "Bash", command="npm run publish")[1]
    assert answers("Bash(npm publish *)", "Bash", command="npm --loglevel error publish")[1]


@each(("address", "expected"), CASES["addresses"])
def test_a_host_is_compared_as_a_whole(address, expected):
    """What two programs could read in two ways is denied and not allowed."""
    assert answers("WebFetch(domain:docs.org)", "WebFetch", url=address) == tuple(expected)
    assert answers("WebFetch(domain:docs.org)", "WebSearch", url=address) == (False, False)


def test_hosts_below_a_domain_can_be_meant():
    """With a star in its first place; the domain itself is not among them."""
    rule = "WebFetch(domain:*.docs.org)"
    assert answers(rule, "WebFetch", url="https://www.docs.org/") == (True, True)
    assert answers(rule, "WebFetch", url="https://docs.org/") == (False, False)
    assert answers(rule, "WebFetch", url="https://evildocs.org/") == (False, False)


def test_subagents_and_skills_are_named():
    """One kind of them, whatever the CLI calls the tool."""
    assert answers("Agent(Explore)", "Task", subagent_type="Explore") == (True, True)
    assert answers("Task(Explore)", "Agent", subagent_type="Plan") == (False, False)
    assert answers("Task(Explore)", "Task") == (False, True)
    assert answers("Task(Explore)", "Task", subagent_type=3) == (False, True)
    assert answers("Skill(pdf)", "Skill", skill="pdf") == (True, True)
    assert answers("Skill(pdf)", "Skill", command="/pdf") == (False, True)
    for name in ("pdf ", "\npdf", "\ufeff/pdf", "/pdf a.pdf", "PDF"):
        assert answers("Skill(pdf)", "Skill", skill=name) == (False, True)
    assert answers("Skill(pdf)", "Skill", skill="pdfs") == (False, False)
    assert answers("Skill(pdf)", "Task", skill="pdf") == (False, False)


@given(st.text("ab*", max_size=8), st.text("ab" + MANY, max_size=8), st.text("ab", max_size=4))
def test_what_may_match_is_never_missed(pattern, text, meant):
    """If some meaning of the unknown parts matches, the text may match."""
    wildcards = text_glob(pattern)
    if wildcards.matches(text.replace(MANY, meant)):
        assert wildcards.matches(text)


@given(st.text("ab*", max_size=6), st.text("ab", max_size=6))
def test_wildcards_agree_with_regular_expressions(pattern, text):
    """A second way to compare comes to the same result."""
    import re

    expression = ".*".join(re.escape(piece) for piece in pattern.split("*"))
    assert text_glob(pattern).matches(text) == bool(re.fullmatch(expression, text))


@each(
    "rule",
    [
        *("Bash(git log | head)", "Bash(cd x && make)", "Bash(FOO=1 make)", "Bash(a; b)"),
        *("Bash(echo x > y)", "Bash('git' *)", "Bash(time make)", "Bash($x *)", "Bash(a $(b))"),
    ],
)
def test_an_allow_rule_that_can_never_match_is_refused(rule):
    """A rule is about one simple command; to deny more is possible."""
    with pytest.raises(UsageError, match="can never allow"):
        parse_rules("allow_tools", [rule])
    assert parse_rules("deny_tools", [rule])


def test_an_allow_rule_may_quote_grammar():
    """What is quoted is a part of a word."""
    for rule in ("Bash(git commit -m 'a; b')", 'Bash(git commit -m "*)', "Bash(a \\; b)"):
        assert parse_rules("allow_tools", [rule])


@pytest.mark.parametrize(("name", "meant"), [("Bsh", "Bash"), ("Raed", "Read"), ("Edits", "Edit")])
def test_a_name_that_is_nearly_known_is_warned_of(name, meant):
    """The tool may exist all the same, so that it is no error."""
    with pytest.warns(UserWarning, match=f"mean '{meant}'") as caught:
        policies.allow_tools(name)
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_other_unknown_names_are_left_alone():
    """New tools come with every version."""
    assert policies.allow_tools("TaskGet", "CronCreate", "Something", "mcp__bash")


@each(("line", "expected"), CASES["lines and whether a rule for git push denies them"])
def test_options_before_a_subcommand_do_not_evade_a_deny_rule(line, expected):
    """They may have values, which are skipped as well."""
    assert answers("Bash(git push *)", "Bash", command=line)[1] is expected
