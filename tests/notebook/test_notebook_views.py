"""A turn is shown as it grows: one display, not too often; or text, each character once."""

import io
import sys

import pytest
from notebook_shells import Displays, Shell, running

from claude_sync.notebook import views
from claude_sync.notebook.views import DisplayView, TextView, current_shell, is_kernel, view_for


class Clock:
    """Time as the test wants it."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def displays():
    return Displays()


@pytest.fixture
def clock():
    return Clock()


def test_one_display_is_updated(displays, clock):
    """The same one, from the first word to the cost."""
    with running() as scene:
        view = DisplayView(displays.publish, clock=clock)
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
        view = DisplayView(publish, clock=clock)
        scene.begin_to_speak("one ")
        clock.now += 1
        with pytest.raises(KeyboardInterrupt):
            view.update(scene.turn)
        scene.finish_speaking("one")
        scene.end("one")
        view.finish(scene.turn)
    assert updates == [False, True]


def test_it_is_not_updated_too_often(displays, clock):
    """News within a tenth of a second wait for the next look."""
    with running() as scene:
        view = DisplayView(displays.publish, clock=clock)
        view.update(scene.turn)
        scene.begin_to_speak("news")
        view.update(scene.turn)
        assert len(displays.calls) == 1
        view.update(scene.turn, now=True)
        assert len(displays.calls) == 2, "unless somebody must see it now"
        scene.finish_speaking("news and more")
        view.update(scene.turn)
        assert len(displays.calls) == 2
        clock.now += views.REFRESH
        view.update(scene.turn)
        assert len(displays.calls) == 3
        scene.end()


def test_without_news_only_the_seconds_change(displays, clock):
    """Once a second somebody sees that it is alive."""
    with running() as scene:
        scene.until(lambda turn: turn.running())
        view = DisplayView(displays.publish, clock=clock)
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
        view = DisplayView(displays.publish, clock=clock)
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
        view = DisplayView(slow, clock=clock)
        view.update(scene.turn)
        scene.begin_to_speak("news")
        clock.now += 10
        view.update(scene.turn)
        assert len(shown) == 1
        clock.now += 10
        view.update(scene.turn)
        assert len(shown) == 2
        scene.end()


def test_text_is_written_once_and_in_order():
    """Tools have a line of their own, when it is known how they went."""
    written = []
    view = TextView(written.append)
    with running() as scene:
        scene.begin_to_speak("I lo")
        view.update(scene.turn)
        assert "".join(written) == "I lo"
        scene.finish_speaking("I look.")
        scene.use_tool(given={"command": "ls"})
        view.update(scene.turn)
        assert "Bash" not in "".join(written)
        scene.return_result("two files")
        view.update(scene.turn)
        view.update(scene.turn)
        scene.speak("Two files.")
        scene.end(total_cost_usd=0.5)
        view.finish(scene.turn)
    expected = "\n✓ Bash ls\nTwo files.\n[$0.5000 · "
    assert expected in "".join(written)
    assert "".join(written).count("Two files.") == 1


def test_text_ends_with_its_line_even_without_an_answer():
    """The next prompt of the terminal begins a line."""
    written = []
    with running() as scene:
        scene.begin_to_speak("half")
        view = TextView(written.append)
        view.update(scene.turn)
        view.finish(scene.turn)
        scene.end()
    assert "".join(written) == "half\n"


def test_text_shows_typed_data():
    """As Python shows it."""
    written = []
    with running() as scene:
        scene.end("ok", structured_output={"n": 1})
        TextView(written.append).finish(scene.turn)
    assert "{'n': 1}\n" in "".join(written)


def test_a_terminal_is_not_commanded(monkeypatch):
    """Escape sequences are spelled out."""
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    with running() as scene:
        scene.end("\x1b[2Jé")
        TextView().finish(scene.turn)
    screen.flush()
    assert screen.buffer.getvalue().startswith(b"\\x1b[2J\\xe9\n[$")


def test_the_shell_decides():
    """A kernel's front end shows displays; a terminal, or no shell at all, shows text."""
    assert isinstance(view_for(Shell(kernel=True)), DisplayView)
    assert isinstance(view_for(Shell(kernel=False)), TextView)
    assert isinstance(view_for(None), TextView)
    assert not is_kernel(None)


def test_ipython_is_asked_only_where_it_is_loaded(monkeypatch):
    """Showing something does not load it."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert current_shell() is None
    assert "IPython" not in sys.modules
    shell = object()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": lambda: shell}))
    assert current_shell() is shell
