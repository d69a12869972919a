"""What the ready-made policies decide, above all about nasty command lines."""

from __future__ import annotations

import pytest
from stand_in_requests import StandInRequest, decided
from tables import each

from claude_sync.errors import UsageError
from claude_sync.options.options import Options
from claude_sync.permissions import policies
from claude_sync.permissions.policies import never_asks

ALLOWING = policies.allow_tools("Bash(git *)", "Bash(ls)", "Bash(npm run test:*)")
DENYING = policies.deny_tools("Bash(rm *)", "Bash(curl:*)", "Bash(touch *)")

# What the two policies above make of a line: A allows it, D denies it, - leaves it open.


@each(
    ("line", "is_allowed", "is_denied"),
    [
        *(("git status", True, False), ("git status; ls", True, False), ("make", False, False)),
        *(("git status; rm x", False, True), ("git $(rm x)", False, True), ("git '", False, True)),
        *(("npm run test unit", True, False), ("npm run tests", False, False)),
        *(("curl", False, True), ("/bin/RM x", False, True), ("$x", False, True)),
    ],
)
def test_a_command_line_is_decided(line, is_allowed, is_denied):
    """Allowed only where all of it is, denied where any of it may be."""
    given = {"command": line}
    assert (decided(ALLOWING, "Bash", given) is not None) is is_allowed
    assert (decided(DENYING, "Bash", given) is not None) is is_denied


@each("line", ["rm x", "git; $(rm x)", "'", ""])
def test_the_whole_tool_covers_every_command(line):
    """A rule without a pattern does not look at the command."""
    for rule in ("Bash", "Bash(*)"):
        assert decided(policies.allow_tools(rule), "Bash", {"command": line}) == "allow"
        assert decided(policies.deny_tools(rule), "Bash", {"command": line}) == "deny"


@each("given", [{}, {"command": None}, {"command": ["git"]}])
def test_an_input_of_another_shape_is_not_allowed_but_denied(given):
    """What cannot be looked at is not covered, and may be anything."""
    assert decided(ALLOWING, "Bash", given) is None
    assert decided(DENYING, "Bash", given) == "deny"


def test_files_are_decided_by_their_paths(tmp_path):
    """Inside the pattern or not, however the path is written."""
    cwd = str(tmp_path)
    allowing, denying = (
        make("Edit(src/**)") for make in (policies.allow_tools, policies.deny_tools)
    )
    inside, outside = {"file_path": f"{cwd}/src/a"}, {"file_path": f"{cwd}/src/../a"}
    assert decided(allowing, "Write", inside, cwd) == "allow"
    assert decided(allowing, "Write", outside, cwd) is None
    assert decided(denying, "Edit", inside, cwd) == "deny"
    assert decided(denying, "Edit", outside, cwd) is None
    assert decided(allowing, "Read", inside, cwd) is None


def test_a_command_outside_the_sandbox_is_another_matter():
    """Whoever allowed git did not allow it to leave the sandbox."""
    given = {"command": "git status", "dangerouslyDisableSandbox": True}
    assert decided(ALLOWING, "Bash", given) is None


def test_other_shells_are_denied_but_not_allowed():
    """A command must not pass because another tool runs it."""
    assert decided(DENYING, "Monitor", {"command": "rm x"}) == "deny"
    assert decided(ALLOWING, "Monitor", {"command": "git status"}) is None


def test_rules_are_about_their_tools_only():
    """Other tools stay open."""
    for policy in (ALLOWING, DENYING):
        assert decided(policy, "Read", {"command": "git status; rm x"}) is None


@each(
    ("policy", "tool", "expected"),
    [
        (policies.allow_all, "Bash", "allow"),
        (policies.allow_all, "ExitPlanMode", "allow"),
        (policies.allow_all, "AskUserQuestion", None),
        (policies.deny_all, "Read", "deny"),
        (policies.deny_all, "AskUserQuestion", "deny"),
        (policies.read_only, "Read", "allow"),
        (policies.read_only, "Grep", "allow"),
        (policies.read_only, "TodoWrite", "allow"),
        (policies.read_only, "Bash", "deny"),
        (policies.read_only, "Write", "deny"),
        (policies.read_only, "WebFetch", "deny"),
        (policies.read_only, "mcp__files__read", "deny"),
        (policies.read_only, "SomethingNew", "deny"),
        (policies.read_only, "AskUserQuestion", None),
        (policies.allow_tools("AskUserQuestion"), "AskUserQuestion", None),
        (policies.deny_tools("AskUserQuestion"), "AskUserQuestion", "deny"),
    ],
)
def test_the_simple_policies_decide_by_the_tool(policy, tool, expected):
    """Everything, nothing, or what only reads; a question is not answered with a yes."""
    assert decided(policy, tool, {"command": "ls"}) == expected


@pytest.fixture
def folders(tmp_path):
    """A folder to read in, with strange letters in its name, and one beside it."""
    inside, outside = tmp_path / "in [x]*", tmp_path / "in x"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_text("text")
    (inside / "link").symlink_to(outside)
    return inside, outside


def test_reading_inside_a_folder(folders):
    """What lies in it, however the path is written; the tools that need no file; nothing else."""
    inside, outside = map(str, folders)
    policy = policies.read_only(inside=folders[0])

    def decide(tool, cwd=outside, **given):
        return decided(policy, tool, given, cwd)

    for allowed in (
        decide("Read", file_path=f"{inside}/file"),
        decide("Read", file_path=f"{inside}/../in [x]*/file"),
        decide("Grep", pattern="x", path=inside),
        decide("Glob", pattern="**/*.py", path=inside),
        decide("TodoWrite", todos=[]),
    ):
        assert allowed == "allow"
    for denied in (
        decide("Read", file_path=f"{outside}/file"),
        decide("Read", file_path=f"{inside}/../in x/file"),
        decide("Read", file_path=f"{inside}/link/file"),
        decide("Read", file_path="~/file", cwd=inside),
        decide("Read", file_path="file", cwd=inside),
        decide("Grep", pattern="x", cwd=inside),
        decide("Read", cwd=inside),
        decide("Grep", pattern="x"),
        decide("Glob", pattern=f"{outside}/*", path=inside),
        decide("Glob", pattern="../*", path=inside),
        decide("Write", file_path=f"{inside}/file"),
        decide("Bash", command="cat file", cwd=inside),
    ):
        assert denied == "deny"
    assert decide("AskUserQuestion") is None


def test_reading_inside_a_folder_that_is_a_link(folders):
    """The folder it leads to is meant."""
    inside, outside = folders
    policy = policies.read_only(inside=str(inside / "link"))
    assert decided(policy, "Read", {"file_path": f"{outside}/file"}) == "allow"
    assert decided(policy, "Read", {"file_path": f"{inside}/file"}) == "deny"


def test_reading_everywhere_needs_no_folder(folders):
    """The root of the file system is a folder, too; a call without one is a mistake."""
    policy = policies.read_only(inside="/")
    assert decided(policy, "Read", {"file_path": f"{folders[1]}/file"}) == "allow"
    for wrong in (policies.read_only, lambda: policies.read_only(inside=" ")):
        with pytest.raises(UsageError, match="inside"):
            wrong()


def test_the_first_decision_stands():
    """Later policies are not asked."""
    deny_first = policies.first_of(policies.deny_tools("Bash(rm *)"), policies.allow_tools("Bash"))
    assert decided(deny_first, "Bash", {"command": "rm x"}) == "deny"
    assert decided(deny_first, "Bash", {"command": "ls"}) == "allow"
    assert decided(deny_first, "Read") is None


def test_a_refusal_that_is_false_is_still_a_decision():
    """Only None asks the next one."""
    policy = policies.first_of(lambda request: False, policies.allow_all)
    assert policy(StandInRequest()) is False


@each("wrong", [(), ("Read",), (None,), (policies.allow_all, 3), ([policies.allow_all],)])
def test_first_of_takes_policies(wrong):
    """Rules and the like are refused at once."""
    with pytest.raises(UsageError, match="first_of"):
        policies.first_of(*wrong)


@pytest.mark.parametrize("make", [policies.allow_tools, policies.deny_tools])
def test_a_wrong_rule_is_refused_when_it_is_written(make):
    """Not when the first request comes."""
    for wrong in ((), ("",), ("Bash(",), ("Bash()",), (3,), (["Read"],), ("Read", None)):
        with pytest.raises(UsageError, match=r"Write|Pass"):
            make(*wrong)


def test_what_will_run_is_judged_and_not_a_copy_that_was_changed():
    """A policy before may have changed what it was shown."""

    def change(request):
        request.input["command"] = "git status"

    allowing = policies.first_of(change, ALLOWING)
    assert decided(allowing, "Bash", {"command": "rm x"}) is None
    assert decided(policies.first_of(change, DENYING), "Bash", {"command": "rm x"}) == "deny"


@each(
    ("given", "reason"),
    [
        ({}, ""),
        ({"permission_mode": "acceptEdits", "allowed_tools": ["Bash", "Read"]}, ""),
        ({"allowed_tools": ["Bash(git diff *)", "Edit"]}, ""),
        ({"allowed_tools": ["Bash", "Edit(src/**)"]}, ""),
        ({"permission_mode": "bypassPermissions"}, "bypassPermissions"),
        ({"permission_mode": "dontAsk"}, "dontAsk"),
        ({"extra_args": {"dangerously-skip-permissions": None}}, "extra_args"),
        ({"allowed_tools": ["Bash(*)", "Write"]}, "allowed_tools"),
        ({"settings": {"permissions": {"defaultMode": "bypassPermissions"}}}, "defaultMode"),
        ({"settings": {"permissions": {"allow": ["Bash", "Edit"]}}}, "settings"),
        ({"settings": {"permissions": {"allow": []}}}, ""),
    ],
)
def test_it_is_known_why_the_cli_never_asks(given, reason):
    """By its mode, by rules, or by a flag."""
    found = never_asks(Options(**given))
    assert reason in found
    assert bool(found) is bool(reason)
