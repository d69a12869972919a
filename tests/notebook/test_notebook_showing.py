"""A turn is shown as it grows, in one display, by the cell that waits for it or by itself."""

import sys
import threading

import pytest
from notebook_shells import PATIENCE, Displays, Shell, running

from claude_sync import Answer, Client
from claude_sync.errors import CliExited, UsageError
from claude_sync.notebook import show
from claude_sync.notebook.showing import Display, watch
from claude_sync.testing import ScriptedCli


@pytest.fixture
def displays():
    return Displays()


@pytest.fixture
def clock():
    return Clock()


class Clock:
    """Time as the test wants it."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_one_display_is_updated(displays, clock):
    """The same one, from the first word to the cost."""
    with running() as scene:
        view = Display(displays.publish, clock=clock)
        scene.begin_to_speak("one ")
        clock.now += 1
        view.update(scene.turn)
        scene.finish_speaking("one two")
        scene.end("one two")
        view.finish(scene.turn)
        identities = {identity for identity, _ in displays.calls}
        assert len(identities) == 1
        texts = [data["text/plain"].split("\n")[0] for _, data in displays.calls]
        assert texts == ["one ", "one two"]


def test_an_interrupt_while_it_is_shown_first_makes_no_second_display(displays, clock):
    """The kernel's interrupt may come when the display is out, and before we know."""
    updates, interrupts = [], [KeyboardInterrupt]

    def publish(update, **rest):
        displays.publish(update=update, **rest)
        updates.append(update)
        if interrupts:
            raise interrupts.pop()

    with running() as scene:
        view = Display(publish, clock=clock)
        scene.begin_to_speak("one ")
        clock.now += 1
        with pytest.raises(KeyboardInterrupt):
            view.update(scene.turn)
        scene.finish_speaking("one")
        scene.end("one")
        view.finish(scene.turn)
    assert updates == [False, True]


def test_without_news_only_the_seconds_change(displays, clock):
    """Once a second somebody sees that it is alive."""
    with running() as scene:
        scene.until(lambda turn: turn.running())
        view = Display(displays.publish, clock=clock)
        view.update(scene.turn)
        clock.now += 0.5
        view.update(scene.turn)
        assert len(displays.calls) == 1
        clock.now += 0.6
        view.update(scene.turn)
        assert "working 1 s" in displays.last[0]["text/html"]
        scene.end()


def test_a_long_turn_is_updated_less_often(displays, clock):
    """Each update carries all of it, and servers drop what is too much."""
    with running() as scene:
        view = Display(displays.publish, clock=clock)
        scene.speak("x" * 500_000)
        view.update(scene.turn)
        scene.begin_to_speak("more")
        clock.now += 4
        view.update(scene.turn)
        assert len(displays.calls) == 1
        clock.now += 4
        view.update(scene.turn)
        assert len(displays.calls) == 2
        scene.end()


def test_what_takes_long_to_show_is_shown_less_often(clock):
    """At most a tenth of the time goes into showing."""
    shown = []

    def slow(**call):
        shown.append(call)
        clock.now += 2

    with running() as scene:
        view = Display(slow, clock=clock)
        view.update(scene.turn)
        scene.begin_to_speak("news")
        clock.now += 10
        view.update(scene.turn)
        assert len(shown) == 1
        clock.now += 10
        view.update(scene.turn)
        assert len(shown) == 2
        scene.end()


class Log:
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


@pytest.fixture
def shell(monkeypatch):
    """The shell of a kernel, in which show() is called; there are no widgets."""
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": lambda: made}))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return made


@pytest.fixture
def seen(shell, monkeypatch):
    """Wait until a display has shown a text."""
    changed = threading.Condition()
    publish = shell.display_pub.publish

    def publish_and_tell(**call):
        with changed:
            publish(**call)
            changed.notify_all()

    monkeypatch.setattr(shell.display_pub, "publish", publish_and_tell)

    def wait(text):
        def is_shown():
            return [data for _, data in shell.display_pub.calls if text in data["text/html"]]

        with changed:
            assert changed.wait_for(is_shown, PATIENCE), shell.display_pub.calls

    return wait


def test_it_returns_at_once_and_the_display_goes_on(shell, seen):
    """From the first word to the cost, in the one display of the cell that called it."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        assert show(turn) is None
        assert len(shell.display_pub.calls) == 1
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("a **word**")
        seen("<strong>word</strong>")
        assert not turn.done()
        cli.end_turn(user, "a **word**", total_cost_usd=0.25)
        seen("$0.2500")
        assert turn.result(PATIENCE) == "a **word**"
        assert len(shell.display_pub.last) == 1


def test_a_turn_that_fails_says_so(shell, seen):
    """Nothing is raised here."""
    cli = ScriptedCli()
    with Client(transport=cli, on_crash="raise") as client:
        turn = client.submit("hi")
        show(turn)
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        with pytest.raises(SystemExit):
            cli.exit(3)
        seen("CliExited")


def test_closing_the_client_ends_the_show(shell, seen):
    """The display tells why; no thread is left."""
    with Client(transport=ScriptedCli()) as client:
        show(client.submit("hi"))
    seen("ClientClosed")


def test_a_turn_that_is_over_is_shown_as_it_is(shell, seen):
    """Once more, or for the first time."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        cli.answer("Hello", prompt="hi")
        turn.result(PATIENCE)
        show(turn)
        seen("Hello")


@pytest.mark.parametrize("post", ["caller", "manual"])
def test_where_handlers_run_in_whoever_waits_it_waits(shell, post):
    """Otherwise nothing would ever arrive."""

    def script(cli):
        cli.accept()
        cli.answer("Hello", prompt="hi")
        cli.expect_end()

    with Client(transport=ScriptedCli(script), post=post) as client:
        turn = client.submit("hi")
        show(turn)
        assert turn.done()
        assert "Hello" in shell.display_pub.last[0]["text/html"]


def test_without_a_notebook_it_waits_and_writes_text(monkeypatch, capsys):
    """In a script or at a terminal."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)

    def script(cli):
        cli.accept()
        cli.answer("Hello", prompt="hi")
        cli.expect_end()

    with Client(transport=ScriptedCli(script)) as client:
        show(client.submit("hi"))
    assert capsys.readouterr().out.startswith("Hello\n$")


@pytest.mark.parametrize("wrong", [Answer("x"), "hi", None])
def test_only_turns_are_shown(wrong):
    """The error says what to write."""
    with pytest.raises(UsageError, match=r"show\(client\.submit"):
        show(wrong)
