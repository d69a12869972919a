"""Notices are seen where their client's board is open, and nowhere else."""

import gc

import pytest
from notebook_shells import Displays

from claude_sync import Client
from claude_sync.notebook.boards import (
    Board,
    DisplayPlace,
    Notice,
    WidgetPlace,
    board_of,
    open_board,
    title_html,
    widgets_module,
)


class Note(Notice):
    """A notice with a text."""

    def __init__(self, text):
        self.text = text
        self.html = f"<i>{text}</i>"

    def widget(self, widgets):
        return (widgets, self.text)


class Box:
    """A box of widgets."""

    def __init__(self, children):
        self.children = children

    def _repr_mimebundle_(self, **_wishes):
        return {"application/vnd.jupyter.widget-view+json": {}}, {}


class Widgets:
    """As much of ipywidgets as a board uses."""

    VBox = Box


def test_notices_are_shown_where_the_board_was_opened_last():
    """Those that came before it was opened included."""
    board = Board()
    first, second = [], []
    one, two = Note("one"), Note("two")
    board.put_up(one)
    assert not board.is_open()
    board.open(first.append)
    assert board.is_open()
    board.put_up(two)
    board.open(second.append)
    board.take_down(one)
    board.take_down(one)
    assert first == [[one], [one, two], []]
    assert second == [[one, two], [two]]


def test_what_was_dealt_with_elsewhere_is_taken_down():
    """When somebody looks; nothing is shown anew where nothing changed."""
    board, shown = Board(), []
    one, two = Note("one"), Note("two")
    board.put_up(one)
    board.put_up(two)
    board.open(shown.append)
    board.tidy_up()
    assert shown == [[one, two]]
    one.is_over = lambda: True
    board.tidy_up()
    assert shown == [[one, two], [two]]


def test_each_client_has_a_board_of_its_own():
    """For as long as it lives."""
    client, other = Client(), Client()
    board = board_of(client._session)
    assert board_of(client._session) is board
    assert board_of(other._session) is not board


def test_widgets_are_made_once(displays):
    """A person may be typing into one of them."""
    place = WidgetPlace(Widgets, displays.publish)
    assert list(displays.calls[0][1]) == ["application/vnd.jupyter.widget-view+json"]
    one, two = Note("one"), Note("two")
    place([one])
    (made,) = place._box.children
    place([one, two])
    assert place._box.children[0] is made
    assert place._box.children == ((Widgets, "one"), (Widgets, "two"))
    place([])
    assert place._box.children == ()


def test_without_widgets_the_notices_are_a_display(displays):
    """Nothing is shown while there is nothing to show."""
    place = DisplayPlace(displays.publish)
    place([])
    assert displays.calls == []
    place([Note("one"), Note("two")])
    assert displays.last == [{"text/html": "<i>one</i><i>two</i>", "text/plain": "one\ntwo"}]
    place([])
    assert displays.last == [{"text/html": "<div></div>", "text/plain": ""}]


@pytest.fixture
def displays():
    return Displays()


class Shell:
    """A shell with displays."""

    def __init__(self, displays):
        self.display_pub = displays


@pytest.mark.parametrize("widgets", [None, Widgets])
def test_a_board_is_opened_with_widgets_if_there_are_some(displays, monkeypatch, widgets):
    """And without them if there are none."""
    monkeypatch.setattr("claude_sync.notebook.boards.widgets_module", lambda: widgets)
    client = Client()
    open_board(client._session, Shell(displays))
    board_of(client._session).put_up(Note("one"))
    (shown,) = displays.last
    assert ("text/html" in shown) == (widgets is None)


def test_ipywidgets_is_optional(monkeypatch):
    """None where it is not installed."""
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    assert widgets_module() is None
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", Widgets)
    assert widgets_module() is Widgets


def test_a_title_is_escaped():
    """It may be the model's."""
    assert title_html("<script>") == "<b>&lt;script&gt;</b>"


def test_a_board_does_not_keep_its_client(recwarn):
    """What is forgotten is collected."""
    from claude_sync.notebook import boards

    client = Client()
    board_of(client._session)
    count = len(boards._boards)
    del client
    gc.collect()
    assert len(boards._boards) < count
