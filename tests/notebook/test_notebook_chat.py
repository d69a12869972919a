"""A whole chat in a cell: what a person sees and does there."""

import os
import sys
from datetime import datetime, timezone

import ipywidgets
import pytest
from image_samples import png
from notebook_shells import Shell
from notebook_widgets import buttons_of, click, of_kind, shown, until_shown
from patience import wait_until
from saved_sessions import conversation

from claude_sync import Client, UsageError
from claude_sync.notebook import Chat, forms
from claude_sync.testing import ScriptedCli, StandIn, builders

TOOL = builders.tool_use("Bash", {"command": "make <b>", "description": "Build"}, "toolu_1")
QUESTION = {
    "questions": [
        {"question": "Which?", "options": [{"label": "Red"}, {"label": "Blue"}]},
    ]
}


class Person:
    """A person, a chat and the CLI that the test plays."""

    def __init__(self, chat, cli):
        self.chat, self.cli, self.panel = chat, cli, chat.panel

    def enter(self, words):
        """Type, and press Enter."""
        self.chat.line.value = words
        self.chat.line._handle_msg(custom({"event": "submit"}))

    def begin(self, words="hi"):
        """Ask, and let the CLI begin its answer."""
        self.enter(words)
        return self.hear(words)

    def hear(self, words):
        """The CLI gets a prompt."""
        user = self.cli.expect("user", text=words)
        self.cli.begin_turn(user)
        return user


def custom(content):
    """A message of the page's."""
    return {"content": {"data": {"method": "custom", "content": content}}, "buffers": []}


@pytest.fixture
def shell(monkeypatch):
    """The shell of a kernel."""
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": lambda: made}))
    return made


@pytest.fixture
def person(shell, monkeypatch):
    """In front of a chat with a client of the program's."""
    monkeypatch.setattr(forms, "SETTLING", 0.0)  # who tests knows what is asked
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        chat = Chat(client)
        cli.accept()
        yield Person(chat, cli)
        chat.close()
    assert shell.events.registered == []


def test_an_answer_streams_in_as_markdown(person):
    """With what it cost, and on_answer gets it."""
    answers = []
    assert person.chat.on_answer(answers.append) == answers.append
    user = person.begin("hi <b>")
    until_shown(person.panel, "hi &lt;b&gt;", "1 s")
    assert "Stop" in buttons_of(person.panel)
    person.cli.speak("a **word** for $5\n\n```python\nx = 1\n```\n")
    html = ("<strong>word</strong> for <span>$</span>5", 'class="language-python"')
    until_shown(person.panel, *html)
    person.cli.end_turn(user, "a **word**", total_cost_usd=0.25)
    wait_until(lambda: shown(person.panel).count("$0.2500") == 2)  # of the answer, and of all
    wait_until(lambda: answers == ["a **word**"])
    assert "Stop" not in buttons_of(person.panel)


def test_a_program_asks_and_a_second_prompt_waits(person):
    """Both can be seen, and stop() takes back what waits."""
    person.chat.ask("first")
    person.hear("first")
    person.chat.ask("second")
    until_shown(person.panel, "first", "second", "waits")
    click(person.panel, "Stop")
    person.cli.expect("control_request")
    wait_until(lambda: "second" not in shown(person.panel))


@pytest.mark.parametrize(("label", "behavior"), [("Allow", "allow"), ("Deny", "deny")])
def test_a_request_is_answered_in_the_conversation(person, label, behavior):
    """Its buttons go with the answer, and the tool tells what was decided."""
    person.begin()
    person.cli.say(builders.assistant(TOOL))
    request = person.cli.ask_permission("Bash", TOOL["input"], tool_use_id="toolu_1")
    until_shown(person.panel, "wants to run a command", "make &lt;b&gt;")
    click(person.panel, label)
    assert person.cli.expect_reply(request)["behavior"] == behavior
    decided = {"allow": "(allowed)", "deny": "(denied)"}[behavior]
    until_shown(person.panel, decided)
    assert "Deny" not in buttons_of(person.panel)


def test_what_has_just_appeared_is_not_allowed_by_a_click(person, monkeypatch):
    """The click was meant for what was there before."""
    person.begin()
    request = person.cli.ask_permission("Bash", TOOL["input"], tool_use_id="toolu_1")
    monkeypatch.setattr(forms, "SETTLING", 3_600.0)
    click(person.panel, "Allow")
    until_shown(person.panel, "click again")
    monkeypatch.setattr(forms, "SETTLING", 0.0)
    click(person.panel, "Allow")
    assert person.cli.expect_reply(request)["behavior"] == "allow"


def test_a_question_is_answered_in_the_conversation(person):
    """Nothing is chosen beforehand, and what is missing is said."""
    person.begin()
    request = person.cli.ask_permission("AskUserQuestion", QUESTION, tool_use_id="toolu_1")
    click(person.panel, "Answer")
    until_shown(person.panel, "not answered: Which?")
    of_kind(person.panel, "RadioButtons")[0].value = 1
    click(person.panel, "Answer")
    reply = person.cli.expect_reply(request)
    assert reply["updatedInput"]["answers"] == {"Which?": "Blue"}


def test_the_panel_says_so_while_a_cell_runs(person, shell):
    """Until it has ended; and no more once a click was served meanwhile."""
    shell.events.trigger("pre_run_cell")
    until_shown(person.panel, "A cell is running")
    shell.events.trigger("post_run_cell")
    wait_until(lambda: "A cell is running" not in shown(person.panel))
    shell.events.trigger("pre_run_cell")
    until_shown(person.panel, "A cell is running")
    person.begin("meanwhile")
    wait_until(lambda: "A cell is running" not in shown(person.panel))
    shell.events.trigger("post_run_cell")
    shell.events.trigger("pre_run_cell")
    assert person.chat._cell is None


def test_the_model_and_the_mode_are_chosen(person):
    """The CLI is told; what it says itself is drawn and sent nowhere."""
    user = person.begin()
    person.cli.end_turn(user, "done")
    wait_until(lambda: not person.chat.presenter.is_working)
    person.chat.mode.value = "plan"
    assert person.cli.expect("control_request")["request"]["mode"] == "plan"
    person.cli.say(builders.status(permissionMode="acceptEdits"))
    wait_until(lambda: person.chat.mode.value == "acceptEdits")


def test_several_lines_and_files_are_sent(person):
    """What stands in the field stays when it grows; a file can be left out again."""
    person.chat.line.value = "one"
    person.chat.many.value = True
    assert person.chat.lines.value == "one"
    file = {"name": "n.txt", "type": "text/plain", "size": 3, "content": memoryview(b"abc")}
    file["last_modified"] = datetime.now(timezone.utc)
    person.chat.attach.value = (file,)
    click(person.panel, "n.txt ✕")
    wait_until(lambda: "n.txt ✕" not in buttons_of(person.panel))
    person.chat.attach.value = (file,)
    person.chat.attach.value = ({**file, "name": "p.png", "content": memoryview(png(4, 4))},)
    person.chat.lines.value = "one\ntwo"
    click(person.panel, "Send")
    until_shown(person.panel, "n.txt", '<img alt="image"')
    user = person.cli.expect("user", text="one\ntwo")
    assert "abc" in str(user["message"]["content"])
    assert person.chat.lines.value == ""


def test_a_failure_is_shown_once_and_can_be_retried(person):
    """In words for people."""
    person.begin("try this")
    person.cli.hang_up(3)
    until_shown(person.panel, "Claude stopped unexpectedly.")
    assert shown(person.panel).count('class="error"') == 1
    wait_until(lambda: "Retry" in buttons_of(person.panel))


def test_a_client_of_its_own_is_closed_and_nothing_is_left(shell):
    """No widget, and no thread."""
    before = len(ipywidgets.widgets.widget._instances)
    chat = Chat(transport=ScriptedCli())
    client = chat.client
    wait_until(lambda: shown(chat.panel))
    assert "application/vnd.jupyter.widget-view+json" in chat._repr_mimebundle_()
    chat.close()
    chat.close()
    wait_until(lambda: client.state == "closed")
    assert len(ipywidgets.widgets.widget._instances) == before


def test_a_chat_is_closed_when_its_cell_runs_again(shell):
    """Not by another cell, nor by the run that made it."""
    runs = iter([("a", 1), ("a", 1), ("b", 2), ("a", 3)])

    def get_parent():
        cell, number = next(runs)
        return {"metadata": {"cellId": cell}, "header": {"msg_id": number}}

    shell.get_parent = get_parent
    chats = [Chat(transport=ScriptedCli()) for _ in range(4)]
    for chat, is_open in zip(chats, (False, False, True, True)):
        wait_until(lambda c=chat, o=is_open: (c.client.state not in ("closing", "closed")) is o)
        chat.close()
    wait_until(lambda: all(chat.client.state == "closed" for chat in chats))


def test_clear_begins_a_new_conversation(shell, tmp_path):
    """With another client, if it is the chat's own; the last prompt can be edited first."""
    before = len(ipywidgets.widgets.widget._instances)
    chat = Chat(cli=StandIn().command, cwd=str(tmp_path))
    until_shown(chat.panel, "Ask Claude about anything")
    chat.ask("Hello")
    until_shown(chat.panel, "echo: Hello")
    client = chat.client
    click(chat.panel, "Edit last")
    assert chat.line.value == "Hello"
    click(chat.panel, "New")
    wait_until(lambda: "echo" not in shown(chat.panel))
    until_shown(chat.panel, "Ask Claude about anything")
    assert chat.client is not client
    chat.close()
    assert len(ipywidgets.widgets.widget._instances) == before
    wait_until(lambda: chat.client.state == client.state == "closed")


def test_an_old_conversation_goes_on(shell, tmp_path, monkeypatch):
    """It is chosen by its title, and shown."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    conversation(tmp_path / ".claude", "My name is Ada.", cwd=os.path.realpath(tmp_path))
    chat = Chat(cli=StandIn().command, cwd=str(tmp_path))
    wait_until(lambda: len(chat.sessions.options) == 2)
    title, session = chat.sessions.options[1]
    assert title == "My name is Ada."
    chat.sessions.value = session
    until_shown(chat.panel, "My name is Ada.")
    assert chat.client._options.resume == session
    chat.close()
    wait_until(lambda: chat.client.state == "closed")


def test_what_cannot_be_a_chat_says_why(monkeypatch):
    """Before anything is started."""
    with pytest.raises(UsageError, match="post="):
        Chat(post="caller")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(UsageError, match="pip install ipywidgets"):
        Chat()


def test_what_is_said_is_escaped(person):
    """In every part of the panel."""
    hostile = "<script>x</script>"
    use = builders.tool_use(hostile, {"a": hostile}, "toolu_2")
    person.begin(hostile)
    person.cli.say(builders.assistant([builders.text(hostile), use], "m1"))
    person.cli.say(builders.user([builders.tool_result("toolu_2", hostile)]))
    request = person.cli.ask_permission("Bash", {"command": hostile}, title=hostile)
    wait_until(lambda: "Allow" in buttons_of(person.panel))
    assert hostile not in shown(person.panel)
    click(person.panel, "Deny")
    person.cli.expect_reply(request)
