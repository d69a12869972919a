"""What ``claude-sync doctor`` tells, what it keeps to itself, and what it costs: nothing."""

import cli_scripts
import pytest
from command_line import CommandLine
from executables import ROOT, clean_environment, executable, real_cli

import claude_sync
from claude_sync.testing import LoopbackModel


@pytest.fixture
def doctor(tmp_path, monkeypatch, capsys):
    """Run ``claude-sync doctor``; its exit code and stdout. It never writes to stderr."""
    command_line = CommandLine(tmp_path, monkeypatch, capsys)

    def run(*words, environment=None, **variables):
        environment = environment or clean_environment(tmp_path, **variables)
        code, printed, errors = command_line.run("doctor", *words, environment=environment)
        assert errors == ""
        return code, printed

    return run


def told(report, name):
    """The value of the line *name* in a report."""
    lines = [line.strip() for line in report.splitlines()]
    return next(line[len(name) + 1 :].strip() for line in lines if line.startswith(name + ":"))


ACCOUNT = {
    "email": "ada.lovelace@example.org",
    "subscriptionType": "max",
    "tokenSource": "claude.ai",
    "apiKeySource": "none",
}


def test_the_stand_in_is_always_well(doctor):
    """--offline needs nothing, so it finds nothing wrong."""
    code, report = doctor("--offline")
    assert code == 0
    assert report.endswith("\nAll is well.\n")
    assert told(report, "starts").startswith("yes, ready after ")


def test_nothing_private_is_told(doctor, tmp_path):
    """Neither values of variables, nor whole addresses, nor the name of the home folder."""
    path = executable(tmp_path, cli_scripts.logged_in, account=ACCOUNT)
    _, report = doctor("--cli", path, ANTHROPIC_API_KEY="sk-ant-verysecret")
    assert "ANTHROPIC_API_KEY" in report
    for private in ("verysecret", "lovelace", "example.org", str(tmp_path)):
        assert private not in report


def test_variables_of_another_session_are_set_apart(doctor):
    """What a surrounding session has set is named, but does not reach the CLI."""
    _, report = doctor("--offline", CLAUDECODE="1", ANTHROPIC_BASE_URL="http://127.0.0.1:1")
    assert told(report, "not passed on") == "CLAUDECODE"
    assert "ANTHROPIC_BASE_URL" in report


def test_not_being_logged_in_is_a_problem(doctor, tmp_path):
    """It is told together with what helps, and which program that is: it may not be on PATH."""
    account = {"tokenSource": "none", "apiProvider": "firstParty"}
    cli = executable(tmp_path, cli_scripts.logged_in, account=account)
    code, report = doctor("--cli", cli)
    assert code == 1
    assert told(report, "login") == "none"
    advice = report.partition("PROBLEM: the CLI is not logged in.")[2]
    assert "/login" in advice
    assert "\n      ~/claude\n" in advice  # home is where it is
    assert "env=" not in advice  # those are words of programs
    assert "All is well" not in report


def test_a_cli_that_is_missing_is_a_problem(doctor):
    """Every place looked at is told, and how to install one."""
    code, report = doctor(CLAUDE_CODE_PATH="~/nowhere/claude")
    assert code == 1
    assert told(report, "--cli") == "not given"
    assert "nowhere/claude: missing" in told(report, "CLAUDE_CODE_PATH")
    assert told(report, "used") == "none"
    problem = report.partition("PROBLEM: ")[2]
    assert problem.startswith("the 'claude' command was not found. Install it (npm install ")
    assert "pip install claude-agent-sdk" in problem
    assert "with --cli or the environment variable CLAUDE_CODE_PATH.\n" in problem
    assert report.count("nowhere/claude") == 1


KEY = {"apiKeySource": "ANTHROPIC_API_KEY"}
HELPER = {"apiKeySource": "apiKeyHelper", "tokenSource": "claude.ai"}


@pytest.mark.parametrize(
    ("account", "login"),
    [
        (ACCOUNT, "by claude.ai, max, a***@e***"),
        # Whether a key is good, nobody knows: to try it would cost something.
        (KEY, "by ANTHROPIC_API_KEY (not tried)"),
        (HELPER, "by apiKeyHelper (not tried), claude.ai"),
        ({"tokenSource": "none", "apiProvider": "bedrock"}, "by bedrock"),
        (None, "the CLI does not say"),
    ],
)
def test_a_cli_that_is_logged_in_is_well(doctor, tmp_path, account, login):
    """The path, the versions, the start and the login are told."""
    settings = {"account": account, "style": "old", "version": "2.1.777"}
    code, report = doctor("--cli", executable(tmp_path, cli_scripts.logged_in, **settings))
    assert code == 0, report
    assert told(report, "used") == "~/claude"
    assert told(report, "version").startswith("2.1.777 ")  # by --version: an old CLI
    assert told(report, "claude_sync") == claude_sync.__version__
    assert told(report, "login") == login


def test_a_cli_that_does_not_start_is_a_problem(doctor, tmp_path):
    """Its last words are told, without the secrets in them."""
    code, report = doctor("--cli", executable(tmp_path, cli_scripts.breaks))
    assert code == 1
    assert told(report, "starts") == "no"
    assert "exit code 7" in report
    assert "is broken" in report
    assert "verysecret" not in report
    assert "in a terminal, and see what it says:\n      ~/claude\n" in report
    assert "claude-sync doctor" not in report


def test_the_first_cli_on_path_is_found(doctor, tmp_path):
    """Without any setting, PATH decides."""
    executable(tmp_path, cli_scripts.logged_in, account=ACCOUNT)
    code, report = doctor("-v", PATH=str(tmp_path))
    assert code == 0, report
    assert told(report, "PATH") == told(report, "used") == "~/claude"
    code, report = doctor(PATH=str(tmp_path))
    assert "usual places" not in report  # all is well, so nobody wants to know


@pytest.mark.real
def test_a_real_cli_is_started_but_asked_nothing(doctor, tmp_path):
    """The model hears nothing of a doctor's visit."""
    with LoopbackModel() as model:
        environment = {**model.environment(tmp_path, inherit=True), "PYTHONPATH": str(ROOT)}
        code, report = doctor("--cli", real_cli(), environment=environment)
        assert model.conversation == []
    assert code == 0, report
    assert told(report, "login") == "by ANTHROPIC_API_KEY (not tried)"
