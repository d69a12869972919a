"""The fixtures in other people's tests: as they would use them, in a run of pytest of their own."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest
from executables import clean_environment, real_cli
from patience import PATIENCE
from pytest_runs import PLUGIN, run_here, words_for

PYTEST = (sys.executable, "-m", "pytest")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Write a test file and run pytest on it, here; what it printed, and its exit code."""
    return functools.partial(run_here, monkeypatch, tmp_path)


def test_the_fixtures(run):
    """An echo, a script, a model; settings by a marker, which needs no registration."""
    printed, code = run(
        """
        import pytest
        from claude_sync import Client
        from claude_sync.testing import LoopbackModel, ScriptedCli

        def test_echo(claude):
            assert isinstance(claude, Client)
            assert claude.ask("hi") == "echo: hi"

        def test_script(claude, fake_cli, scripted_cli):
            assert isinstance(fake_cli, ScriptedCli)
            assert fake_cli is scripted_cli

            @fake_cli.play
            def script(cli):
                cli.accept()
                cli.answer("Hello", prompt="hi")

            assert claude.ask("hi") == "Hello"

        def test_model(loopback_model):
            assert isinstance(loopback_model, LoopbackModel)
            assert loopback_model.url

        @pytest.mark.claude(name="named", model="haiku")
        class TestSettings:
            @pytest.mark.claude(model="opus")
            def test_settings(self, claude):
                assert claude.name == "named"
                assert claude._options.model == "opus"
        """,
        "--strict-markers",
    )
    assert code == 0, printed
    assert "4 passed" in printed


def test_what_a_script_did_not_expect_fails_the_test(run):
    """At the end; a test that has failed is not blamed twice."""
    printed, code = run(
        """
        import threading

        def test_one(claude, fake_cli):
            turn = claude.submit("hi")
            fake_cli.accept()
            fake_cli.answer("Hello")
            assert turn.result(30) == "Hello"
            claude.submit("and this?")
            while not fake_cli._input:
                threading.Event().wait(0.01)

        def test_two(claude, scripted_cli):
            claude.submit("hi")
            assert False, "for another reason"
        """
    )
    assert code == 1
    assert "1 failed, 1 passed, 1 error" in printed
    assert "ERROR test_of_a_program.py::test_one" in printed
    assert "and this?" in printed


def test_a_cli_that_nobody_plays_does_not_hang(run):
    """After its patience the error says what is missing; a script that is not used fails, too."""
    printed, code = run(
        """
        from claude_sync import Client

        def test_no_script(fake_cli):
            fake_cli.patience = 0.05
            with Client(transport=fake_cli) as client:
                client.ask("hi")

        def test_nothing_asked(claude, fake_cli):
            fake_cli.play(lambda cli: (cli.accept(), cli.answer("Hello")))

        def test_not_even_opened(fake_cli):
            fake_cli.play(lambda cli: (cli.accept(), cli.answer("Hello")))

        def test_neither(fake_cli):
            pass
        """
    )
    assert code == 1
    assert "1 failed, 3 passed, 2 errors" in printed, printed
    assert "Decorate a function with @fake_cli.play." in printed
    assert "the client asked nothing: the script waited for " in printed
    assert "no client was opened: the script never got its first request" in printed


def test_a_recording_of_a_failure_is_not_kept(run, tmp_path):
    """Whether or not the failure is known."""
    printed, code = run(
        """
        import pytest
        from claude_sync.testing import StandIn

        @pytest.mark.parametrize("ending", ["passes", "skips", "fails"])
        @pytest.mark.claude(cli=StandIn().command)
        @pytest.mark.xfail(raises=ZeroDivisionError)
        def test_it(claude, recording, ending):
            assert claude.ask("hi") == "echo: hi"
            if ending == "skips":
                pytest.skip()
            1 / (ending == "passes")
        """,
        "--claude-record",
    )
    assert code == 0, printed
    assert "1 skipped, 1 xfailed, 1 xpassed in" in printed
    folder = tmp_path / "recordings" / "test_of_a_program"
    assert [each.name for each in folder.iterdir()] == ["test_it-passes.jsonl"]


def test_a_wrong_marker_is_told(run):
    """Settings have names; and a script leaves no choice of another CLI."""
    printed, code = run(
        """
        import pytest

        @pytest.mark.claude("haiku")
        def test_name(claude): pass

        @pytest.mark.claude(cli="claude")
        def test_cli(claude, scripted_cli): pass
        """
    )
    assert code == 1
    assert "2 errors" in printed
    assert "takes settings by name, @pytest.mark.claude(model='haiku'); not 'haiku'" in printed
    assert "what scripted_cli says, so cli= has no effect. Leave one of them out." in printed


def test_another_cli_by_the_marker(run):
    """A process that fails as only processes do, or somebody's own transport."""
    printed, code = run(
        """
        import pytest
        from claude_sync import CliExited
        from claude_sync.testing import ScriptedCli, StandIn

        def dies(cli):
            cli.accept()
            cli.expect("user")
            cli.exit(7)

        @pytest.mark.claude(cli=StandIn(dies).command)
        def test_process(claude):
            with pytest.raises(CliExited) as caught:
                claude.ask("hi", timeout=60)
            assert caught.value.exit_code == 7

        @pytest.mark.claude(transport=lambda: ScriptedCli(dies))
        def test_transport(claude):
            with pytest.raises(CliExited):
                claude.ask("hi", timeout=60)
        """
    )
    assert code == 0, printed


def test_a_program_that_opens_its_clients_itself(run):
    """It is given the settings; several clients in one test, too."""
    printed, code = run(
        """
        import claude_sync, pytest

        def program(**options):
            return claude_sync.ask("hi", **options)

        def test_one(claude_options):
            assert program(**claude_options) == program(**claude_options) == "echo: hi"

        @pytest.mark.claude(model="haiku")
        def test_two(claude_options, scripted_cli):
            assert claude_options == {"transport": scripted_cli, "model": "haiku"}
            scripted_cli.play(lambda cli: (cli.accept(), cli.answer("Hello")))
            assert program(**claude_options) == "Hello"

        class TestOwn:
            @pytest.fixture
            def claude_options(self, claude_options):
                return {**claude_options, "name": "mine"}

            def test_it(self, claude):
                assert claude.name == "mine"
        """
    )
    assert code == 0, printed


RECORDED = """
    def test_it(claude, recording, loopback_model):
        loopback_model.when("2+2").reply("It is four.")
        assert claude.ask("What is 2+2?", timeout=90) == "It is four."
        assert recording.is_recording is {recorded}
"""


@pytest.mark.real
def test_recorded_once_and_played_ever_after(run, tmp_path, monkeypatch):
    """With --claude-record by a real CLI; after that without any."""
    path = tmp_path / "recordings" / "test_of_a_program" / "test_it.jsonl"
    printed, code = run(RECORDED.format(recorded=False))
    assert code == 1
    assert "pytest --claude-record" in printed
    assert not path.exists()
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDE_CODE_PATH", real_cli())
        printed, code = run(RECORDED.format(recorded=True), "--claude-record")
    assert code == 0, printed
    assert path.exists()
    printed, code = run(RECORDED.format(recorded=False))
    assert code == 0, printed
    printed, code = run(RECORDED.format(recorded=False).replace("What is", "How much is"))
    assert code == 1
    assert "What is 2+2?" in printed
    assert "How much is 2+2?" in printed


def test_other_peoples_fixtures_come_first(run):
    """A program that has a fixture of one of these names keeps it."""
    printed, code = run(
        """
        import pytest

        @pytest.fixture
        def recording():
            return "mine"

        def test_it(recording):
            assert recording == "mine"
        """
    )
    assert code == 0, printed


def test_a_run_of_pytest_that_does_not_ask_for_it_knows_nothing_of_it(tmp_path):
    """Only who names the plugin gets the fixtures and pays for their import."""
    code = """
        import sys

        def test_it(request):
            assert [name for name in sys.modules if name.startswith("claude_sync")] == []
            assert not request.config.pluginmanager.hasplugin("claude_sync.testing.plugin")
        """
    words = words_for(tmp_path, code)
    place = words.index(PLUGIN)
    del words[place - 1 : place + 1]
    done = subprocess.run(
        [*PYTEST, *words],
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
