"""The fixtures in other people's tests: as they would use them, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from executables import ROOT, clean_environment, real_cli

PLUGIN = "_claude_sync_pytest"
PATIENCE = 100


@pytest.fixture
def run(tmp_path):
    """Write a test file and run pytest on it; what it printed, and its exit code."""

    def write_and_run(code, *words, plugin=PLUGIN, **variables):
        file = tmp_path / "test_program.py"
        if code is not None:
            file.write_text(textwrap.dedent(code), encoding="utf-8")
        plugins = ["-p", plugin] if plugin else []
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path)),
                *("-p", "no:cacheprovider", "-W", "error", "-q", *plugins, *words, str(file)),
            ],
            env=clean_environment(tmp_path, **{"PATH": "/nowhere", **variables}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout + done.stderr, done.returncode

    return write_and_run


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

        def test_script(claude, scripted_cli):
            assert isinstance(scripted_cli, ScriptedCli)

            @scripted_cli.play
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

        def test_one(claude, scripted_cli):
            turn = claude.submit("hi")
            scripted_cli.accept()
            scripted_cli.answer("Hello")
            assert turn.result(30) == "Hello"
            claude.submit("and this?")
            while not scripted_cli._input:
                threading.Event().wait(0.01)

        def test_two(claude, scripted_cli):
            claude.submit("hi")
            assert False, "for another reason"
        """
    )
    assert code == 1
    assert "1 failed, 1 passed, 1 error" in printed
    assert "ERROR test_program.py::test_one" in printed
    assert "and this?" in printed


RECORDED = """
    def test_it(claude, recording, loopback_model):
        loopback_model.when("2+2").reply("It is four.")
        assert claude.ask("What is 2+2?", timeout=90) == "It is four."
        assert recording.is_recording is {recorded}
"""


@pytest.mark.real
def test_recorded_once_and_played_ever_after(run, tmp_path):
    """With --claude-record by a real CLI; after that without any."""
    path = tmp_path / "recordings" / "test_program" / "test_it.jsonl"
    printed, code = run(RECORDED.format(recorded=False))
    assert code == 1
    assert "pytest --claude-record" in printed
    assert not path.exists()
    printed, code = run(
        RECORDED.format(recorded=True), "--claude-record", CLAUDE_CODE_PATH=real_cli()
    )
    assert code == 0, printed
    assert path.exists()
    printed, code = run(RECORDED.format(recorded=False))
    assert code == 0, printed
    printed, code = run(RECORDED.format(recorded=False).replace("What is", "How much is"))
    assert code == 1
    assert "What is 2+2?" in printed
    assert "How much is 2+2?" in printed


def test_several_processes(run):
    """xdist gives each of them its own tests; there is nothing they share."""
    printed, code = run(
        """
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_echo(claude, number):
            assert claude.ask(f"hi {number}") == f"echo: hi {number}"
        """,
        *("-n", "2"),
    )
    assert code == 0, printed
    assert "6 passed" in printed


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


def test_who_does_not_use_it_does_not_pay(run):
    """Nothing of the library is loaded for tests that ask for nothing of it."""
    printed, code = run(
        """
        import sys

        def test_it():
            loaded = [name for name in sys.modules if name.split(".")[0] == "claude_sync"]
            assert loaded == []
        """
    )
    assert code == 0, printed


def test_twice_is_once(run):
    """Named on the command line as well: it is the same plugin."""
    printed, code = run("def test_it(claude): assert claude", "-p", PLUGIN)
    assert code == 0, printed


def test_it_is_here():
    """Beside the package, so that its import does not import the package."""
    assert (ROOT / f"{PLUGIN}.py").exists()
