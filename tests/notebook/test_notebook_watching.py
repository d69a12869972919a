"""A cell waits for its turn, shows it, and can be interrupted."""

import threading

import pytest
from notebook_shells import PATIENCE

from claude_sync import Client
from claude_sync.errors import CliExited
from claude_sync.notebook.views import View
from claude_sync.notebook.watching import watch
from claude_sync.testing import ScriptedCli


class Log(View):
    """Remembers how the turn looked; calls something when it looks like *text*."""

    def __init__(self, text="", call=lambda: None):
        self.texts = []
        self.finished = []
        self.text = text
        self.call = call

    def update(self, turn):
        self.texts.append(turn.text)
        if turn.text == self.text:
            self.call()

    def finish(self, turn):
        self.finished.append((turn.text, turn.done()))


def test_the_turn_is_shown_until_it_is_over():
    """Handlers run on the thread that watches."""
    threads = []

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("Hello")
        cli.end_turn(user, "Hello")
        cli.expect_end()

    with Client(transport=ScriptedCli(script), post="caller") as client:
        client.on_text(lambda _: threads.append(threading.current_thread()))
        turn = client.submit("hi")
        log = Log()
        watch(turn, log)
        assert log.finished == [("Hello", True)]
        assert set(threads) == {threading.current_thread()}
        assert turn.result() == "Hello"


def test_it_is_looked_at_again_and_again_while_nothing_comes():
    """Not only when something arrives."""
    looked = threading.Event()

    class Counting(Log):
        def update(self, turn):
            super().update(turn)
            if len(self.texts) == 3:
                looked.set()

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        assert looked.wait(PATIENCE)
        cli.end_turn(user, "late")
        cli.expect_end()

    with Client(transport=ScriptedCli(script), post="caller") as client:
        log = Counting()
        watch(client.submit("hi"), log)
        assert len(log.texts) >= 3


def test_how_it_ended_is_shown_and_not_raised():
    """Whoever wants to know asks the turn."""

    def script(cli):
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.exit(3)

    with Client(transport=ScriptedCli(script), post="caller", on_crash="raise") as client:
        turn = client.submit("hi")
        log = Log()
        watch(turn, log)
        assert log.finished == [("", True)]
        with pytest.raises(CliExited):
            turn.result()


def test_an_interrupt_stops_the_turn_and_keeps_the_conversation():
    """Its end is awaited and shown; then KeyboardInterrupt is raised."""

    def interrupt():
        raise KeyboardInterrupt

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("half")
        cli.reply(cli.expect("control_request", subtype="interrupt"))
        cli.end_interrupted(user, "half")
        cli.answer("better", prompt="again")
        cli.expect_end()

    with Client(transport=ScriptedCli(script), post="caller") as client:
        turn = client.submit("hi")
        log = Log("half", interrupt)
        with pytest.raises(KeyboardInterrupt):
            watch(turn, log)
        assert turn.done()
        assert [done for _, done in log.finished] == [True]
        assert client.ask("again") == "better"


def test_a_turn_that_another_thread_withdraws_ends_the_wait():
    """It is over, too."""
    with Client(transport=ScriptedCli(), post="caller") as client:
        turn = client.submit("hi")
        log = Log("", turn.cancel)
        watch(turn, log)
        assert log.finished == [("", True)]
