"""
What a chat does, whatever toolkit draws it: tests for ``test_tk_chat`` and ``test_qt_chat``.

Each of the two has a fixture ``chat``: what a person sees and does there (:class:`Person`), and
``cli``, which the test plays.
"""

from __future__ import annotations

import os

import pytest
from saved_sessions import conversation

from claude_sync import CliExited
from claude_sync.testing import StandIn, builders

TOOL = builders.tool_use("Bash", {"command": "make", "description": "Build"}, "toolu_1")
QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
            "multiSelect": False,
        }
    ]
}


class Person:
    """
    A person in front of a chat; each toolkit has one.

    Attributes:
        widget: The chat.
        cli: The CLI, which the test plays.

    """

    def type(self, text):
        """Type into the entry."""

    def press(self, key):
        """Press a key there: ``Enter``, ``Shift-Enter``, ``Up``, ``Escape``."""

    def typed(self):
        """What stands in the entry."""

    def shown(self):
        """All that the conversation shows, as text."""

    def click(self, words):
        """Click the button that says so."""

    def until(self, condition):
        """Let the window's loop run until something holds."""

    def begin(self, words):
        """Ask, and let the CLI begin its answer: the message as it got it."""
        self.type(words)
        self.press("Enter")
        return self.hear(words)

    def hear(self, words):
        """The CLI gets a prompt."""
        heard = []

        def is_there():
            message = self.cli.receive(0)
            heard.extend(filter(None, [message]))
            return message is not None

        # It may be the window's loop that sends it.
        self.until(is_there)
        (user,) = heard
        assert user["type"] == "user" and words in str(user["message"]["content"])
        self.until(lambda: self.widget.presenter.is_working)
        self.cli.begin_turn(user)
        return user

    def until_shown(self, *words):
        """Wait for words in the conversation, in this order."""

        def is_there():
            text, place = self.shown(), 0
            for each in words:
                place = text.find(each, place)
                if place < 0:
                    return False
            return True

        self.until(is_there)


def test_an_answer_streams_in_as_markdown(chat):
    """The prompt, then headings, lists, links and code without their marks."""
    user = chat.begin("hi there")
    chat.cli.speak("# Title\n\n- **one**\n\n```python\nprint(1)\n```\n[a](https://a.example)")
    chat.until_shown("hi there", "Title", "one", "print(1)", "a")
    assert "**" not in chat.shown()
    assert "```" not in chat.shown()
    chat.cli.end_turn(user, "done")
    chat.until(lambda: not chat.widget.presenter.is_working)


def test_shift_enter_breaks_the_line(chat):
    """Enter alone sends."""
    chat.type("one")
    chat.press("Shift-Enter")
    chat.type("two")
    assert chat.typed() == "one\ntwo"
    chat.press("Enter")
    chat.hear("one\ntwo")
    assert chat.typed() == ""


def test_on_answer_gets_each_answer(chat):
    """As it is an Answer, after ask() of the program."""
    answers = []
    assert chat.widget.on_answer(answers.append) == answers.append
    chat.widget.ask("from the program")
    user = chat.hear("from the program")
    chat.cli.speak("words")
    chat.cli.end_turn(user, "words")
    chat.until(lambda: answers)
    assert answers == ["words"]
    assert answers[0].session_id == chat.widget.client.session_id


def test_a_tool_is_a_card_that_unfolds(chat):
    """With what it was called with, and what it returned."""
    user = chat.begin("build")
    chat.cli.say(builders.assistant(TOOL))
    chat.until_shown("Bash", "make")
    assert "$ make" not in chat.shown()
    chat.cli.say(builders.user([builders.tool_result("toolu_1", "all is built")]))
    chat.until_shown("✓")
    chat.unfold("Bash")
    chat.until_shown("$ make", "all is built")
    chat.cli.end_turn(user, "done")


@pytest.mark.parametrize(
    ("words", "behavior", "mark"), [("Allow", "allow", "✓"), ("Deny", "deny", "denied")]
)
def test_a_request_is_answered_in_the_conversation(chat, words, behavior, mark):
    """It goes with its answer; the tool says what was decided."""
    user = chat.begin("build")
    chat.cli.say(builders.assistant(TOOL))
    request = chat.cli.ask_permission("Bash", {"command": "make"}, tool_use_id="toolu_1")
    chat.until(lambda: chat.can_click(words))
    assert "Waiting for your answer" in chat.working()
    chat.click(words)
    assert chat.cli.expect_reply(request)["behavior"] == behavior
    chat.until(lambda: not chat.can_click(words))
    chat.cli.say(builders.user([builders.tool_result("toolu_1", "x", words == "Deny")]))
    chat.until_shown(mark)
    chat.cli.end_turn(user, "done")


def test_requests_come_one_at_a_time(chat):
    """The second is there when the first is answered."""
    user = chat.begin("build")
    first = chat.cli.ask_permission("Bash", {"command": "make 1"}, tool_use_id="toolu_1")
    second = chat.cli.ask_permission("Bash", {"command": "make 2"}, tool_use_id="toolu_2")
    chat.until(lambda: "1 more" in chat.working() and chat.can_click("Allow"))
    chat.click("Allow")
    assert chat.cli.expect_reply(first)["behavior"] == "allow"
    chat.until(lambda: "more" not in chat.working() and chat.can_click("Deny"))
    chat.click("Deny")
    assert chat.cli.expect_reply(second)["behavior"] == "deny"
    chat.cli.end_turn(user, "done")


def test_a_question_is_answered_in_the_conversation(chat):
    """By a click on an option."""
    user = chat.begin("ask me")
    request = chat.cli.ask_permission("AskUserQuestion", QUESTION, tool_use_id="toolu_1")
    chat.until(lambda: chat.can_click("Blue"))
    assert not chat.can_click("Answer")
    chat.click("Blue")
    chat.click("Answer")
    reply = chat.cli.expect_reply(request)
    assert reply["updatedInput"]["answers"] == {"Which colour?": "Blue"}
    chat.cli.end_turn(user, "done")


def test_a_withdrawn_request_goes(chat):
    """Nothing is answered."""
    user = chat.begin("build")
    request = chat.cli.ask_permission("Bash", {"command": "make"}, tool_use_id="toolu_1")
    chat.until(lambda: chat.can_click("Allow"))
    chat.cli.cancel(request)
    chat.until(lambda: not chat.can_click("Allow"))
    chat.cli.end_turn(user, "done")


def test_what_is_asked_meanwhile_waits(chat):
    """It can be seen waiting, and is sent after the answer."""
    user = chat.begin("first")
    chat.type("second")
    chat.press("Enter")
    chat.until_shown("first", "second", "waits")
    chat.cli.end_turn(user, "done")
    second = chat.hear("second")
    chat.until(lambda: "waits" not in chat.shown())
    chat.cli.end_turn(second, "done")
    chat.until(lambda: not chat.widget.presenter.is_working)


def test_escape_stops(chat):
    """What was said stays."""
    user = chat.begin("tell")
    chat.cli.speak("once upon a time")
    chat.until_shown("once upon")
    chat.press("Escape")
    request = chat.cli.expect("control_request")
    assert request["request"]["subtype"] == "interrupt"
    chat.cli.reply(request, still_queued=[])
    chat.cli.end_interrupted(user, "")
    chat.until_shown("once upon", "Stopped")
    assert not chat.can_click("Try again")


def test_a_failure_is_shown_once_with_a_way_out(chat):
    """In words for people; the prompt can be sent again."""
    user = chat.begin("fail")
    chat.cli.say(
        builders.assistant("API Error: 529 overloaded", model="<synthetic>", error="server_error")
    )
    chat.cli.say(builders.result("API Error: 529 overloaded", [user["uuid"]], is_error=True))
    chat.until(lambda: chat.can_click("Try again"))
    assert chat.shown().count("529") <= 1
    chat.click("Try again")
    chat.hear("fail")
    chat.until(lambda: not chat.can_click("Try again"))
    assert chat.shown().count("fail") == 1


def test_the_death_of_the_cli_is_shown(chat):
    """And the widget lives."""
    chat.begin("die")
    chat.cli.hang_up(1)
    chat.until_shown(CliExited._user_message)


def test_up_edits_the_last_prompt(chat):
    """Of a client of the program's own it is asked anew; Escape leaves it as it is."""
    user = chat.begin("a typpo")
    chat.cli.end_turn(user, "done")
    chat.until(lambda: not chat.widget.presenter.is_working)
    chat.press("Up")
    assert chat.typed() == "a typpo"
    chat.press("Escape")
    assert chat.typed() == ""


def test_search_finds_rows(chat):
    """Whatever their case; what is folded is unfolded."""
    user = chat.begin("build")
    chat.cli.say(builders.assistant(TOOL))
    chat.cli.say(builders.user([builders.tool_result("toolu_1", "a NEEDLE in hay")]))
    chat.cli.end_turn(user, "done")
    chat.until(lambda: not chat.widget.presenter.is_working)
    chat.until_shown("✓")
    chat.search("needle")
    chat.until_shown("a NEEDLE in hay")
    assert chat.selected() == "NEEDLE"


def test_attachments_go_with_the_prompt(chat, tmp_path):
    """What cannot be sent is said at once, and left out."""
    (tmp_path / "notes.txt").write_text("some notes")
    (tmp_path / "program.bin").write_bytes(bytes(range(256)))
    chat.widget.presenter.attach([tmp_path / "notes.txt", tmp_path / "program.bin"])
    assert [each.name for each in chat.widget.presenter.attached] == ["notes.txt"]
    assert chat.widget.presenter.notice
    chat.type("read this")
    chat.press("Enter")
    chat.until(lambda: chat.widget.presenter.is_working)
    content = chat.cli.expect("user")["message"]["content"]
    assert "some notes" in str(content)
    assert chat.widget.presenter.attached == []
    chat.until_shown("read this", "notes.txt")


def test_an_answer_is_copied_as_markdown(chat):
    """As Claude wrote it."""
    user = chat.begin("hi")
    chat.cli.speak("Some **bold** words")
    chat.cli.end_turn(user, "Some **bold** words")
    chat.until(lambda: not chat.widget.presenter.is_working and chat.can_click("Copy"))
    chat.click("Copy")
    assert chat.clipboard() == "Some **bold** words"


def test_a_conversation_is_exported(chat, tmp_path):
    """By the ending of the file."""
    user = chat.begin("hi")
    chat.cli.speak("the answer")
    chat.cli.end_turn(user, "the answer")
    chat.until_shown("the answer")
    chat.widget.export(str(tmp_path / "talk.md"))
    text = (tmp_path / "talk.md").read_text()
    assert "hi" in text
    assert "the answer" in text


def test_zoom_changes_the_letters(chat):
    """Larger, smaller, and as they were."""
    usual = chat.letter()
    chat.widget.zoom(1)
    chat.widget.zoom(1)
    assert chat.letter() > usual
    chat.widget.zoom(-1)
    chat.widget.zoom(-1)
    assert chat.letter() == usual


def test_the_end_stays_in_sight(chat):
    """Of a long answer, and when the window becomes smaller; not for those who read above."""
    user = chat.begin("tell")
    chat.cli.speak("\n\n".join(f"paragraph {number}" for number in range(200)))
    chat.until_shown("paragraph 199")
    chat.until(chat.is_at_end)
    chat.resize(420, 300)
    chat.until(chat.is_at_end)
    chat.scroll_up()
    chat.until(lambda: not chat.is_at_end())
    chat.cli.speak("some more")
    chat.until_shown("some more")
    assert not chat.is_at_end()
    chat.cli.end_turn(user, "done")


def test_a_given_client_stays_open(chat):
    """The program made it, and it goes on after the widget; without its handlers."""
    client = chat.widget.client
    chat.destroy()
    assert client.state == "idle"
    turn = client.submit("after")
    user = chat.cli.expect("user", text="after")
    request = chat.cli.ask_permission("Bash", {"command": "make"})
    assert chat.cli.expect_reply(request)["behavior"] == "deny"
    chat.cli.end_turn(user, "done")
    assert turn.result(60) == "done"


# Of clients that the widget makes itself.


def test_it_works_offline(make_own, tmp_path):
    """An answer, a tool that is allowed, a new conversation, an end in mid-turn."""
    chat = make_own(cli=StandIn().command, cwd=str(tmp_path))
    chat.widget.ask("Hello")
    chat.until_shown("echo: Hello")
    chat.until(lambda: not chat.widget.presenter.is_working)
    client = chat.widget.client
    chat.widget.clear()
    assert chat.widget.client is not client
    chat.until(lambda: "Hello" not in chat.shown())
    chat.until(lambda: client.state == "closed")
    chat.widget.ask('again [[tool Bash {"command": "make"}]]')
    chat.until(lambda: chat.can_click("Allow"))
    chat.click("Allow")
    chat.until_shown("again", "offline, so not run")
    chat.until(lambda: not chat.widget.presenter.is_working)


def test_an_old_conversation_goes_on(make_own, tmp_path, monkeypatch):
    """It is listed with its title, and what was said in it is shown."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    conversation(tmp_path / ".claude", "My name is Ada.", cwd=os.path.realpath(tmp_path))
    chat = make_own(cli=StandIn().command, cwd=str(tmp_path))
    (found,) = chat.widget.presenter.sessions()
    assert found.title == "My name is Ada."
    chat.widget.presenter.resume(found.session_id)
    chat.until_shown("My name is Ada.")
    assert chat.widget.client._options.resume == found.session_id
    chat.widget.ask("And now?")
    chat.until_shown("My name is Ada.", "And now?", "echo: And now?")
    chat.until(lambda: not chat.widget.presenter.is_working)


def test_a_missing_cli_is_said_for_people(make_own, tmp_path):
    """At once, and when something is asked."""
    chat = make_own(cli=str(tmp_path / "nowhere"))
    chat.until(lambda: "Claude is not installed.\nInstall it (" in chat.widget.presenter.notice)
    chat.widget.ask("Hello")
    chat.until_shown("Hello", "Claude is not installed.")
    assert chat.can_click("Try again")
