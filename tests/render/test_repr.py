"""What notebooks show: the state of things, escaped, without waiting for anything."""

from __future__ import annotations

import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from patience import PATIENCE
from safe_html import checked_text
from tables import each

import claude_sync
from claude_sync import LATER, Answer, Client
from claude_sync.markup import markdown_to_html
from claude_sync.render.prose import code, fenced
from claude_sync.render.repr import TAG, html_of, markdown_of
from claude_sync.testing import builders

pytestmark = pytest.mark.usefixtures("all_was_expected")

SCRIPT = "<script>alert(1)</script>"
QUESTION = {
    "questions": [
        {
            "question": f"Which colour? {SCRIPT}",
            "header": "Colour",
            "options": [
                {"label": "Red", "description": "as fire"},
                {"label": f"Blue {SCRIPT}"},
            ],
            "multiSelect": True,
        }
    ]
}


@pytest.fixture
def client(cli, ready):
    """A client of it that is ready."""
    with ready(cli, name="my client", env={"SECRET_KEY": "sk-hidden"}) as client:
        yield client


def ask(client, cli, prompt="hi"):
    """Submit a question; the turn, and the message that the CLI got."""
    turn = client.submit(prompt)
    user = cli.expect("user")
    cli.begin_turn(user)
    return turn, user


def request_of(client, cli, tool, input, **fields):
    """What a handler gets for this; it stays open. Needs a running turn to be of one."""
    got = []
    arrived = threading.Event()

    def later(request):
        got.append(request)
        arrived.set()
        return LATER

    client.on_permission(later)
    asked = cli.ask_permission(tool, input, **fields)
    assert arrived.wait(PATIENCE)
    return got[0], asked


def text_of(thing):
    """The text that its HTML shows, which holds only what displays may."""
    return checked_text(thing._repr_html_(), boxes=True)


# Answers.


def test_an_answer_is_shown_as_it_is_meant():
    """Its Markdown is rendered; nothing of it runs."""
    answer = Answer(f"**bold** {SCRIPT}")
    assert "<strong>bold</strong>" in answer._repr_html_()
    assert SCRIPT in text_of(answer)
    shown = answer._repr_markdown_()
    assert shown.startswith("**bold** &lt;")
    assert TAG.search(shown) is None


@each(
    ("text", "shown"),
    [
        ("a < b <= c << d <3", "a < b <= c << d <3"),
        ("<img src=x onerror=x>", "&lt;img src=x onerror=x>"),
        ("</p><!-- x --><?php ?>", "&lt;/p>&lt;!-- x -->&lt;?php ?>"),
        # What is code for one renderer is none for another.
        ("$$\n```\n$$ <svg onload=x>", "$$\n```\n$$ &lt;svg onload=x>"),
        ("> quoted", "> quoted"),
    ],
)
def test_markdown_has_no_html(text, shown):
    """Pages that render it would run it."""
    assert Answer(text)._repr_markdown_() == shown


def test_code_and_quotes_stand_out():
    """By styles of its own, because a page may have none."""
    answer = Answer("```py\nx\n```\n> said")
    assert text_of(answer).split() == ["x", "said"]
    html = answer._repr_html_()
    assert '<pre><code class="language-py">' in html
    assert "<style>" in html and ".claude-sync blockquote" in html


def test_an_answer_tells_what_it_took(client, cli):
    """Below its text, in a few words."""
    turn, user = ask(client, cli)
    cli.say(builders.assistant(builders.tool_use("Read", {}, "t1")))
    cli.end_turn(user, "done", total_cost_usd=0.25)
    shown = text_of(turn.result(PATIENCE))
    assert shown.startswith("done")
    assert "1 tool call" in shown
    assert "$0.2500" in shown


def test_a_failed_answer_looks_failed():
    """For calls with raise_on_error=False."""
    answer = Answer("oh")
    assert "failed" not in text_of(answer)
    answer.is_error = True
    assert "failed" in text_of(answer)


def test_front_ends_can_choose():
    """Both forms, or the one that is wanted."""
    answer = Answer("*hi*")
    both = answer._repr_mimebundle_()
    assert both == {
        "text/html": answer._repr_html_(),
        "text/markdown": answer._repr_markdown_(),
    }
    assert set(answer._repr_mimebundle_(include=["text/html"])) == {"text/html"}
    assert set(answer._repr_mimebundle_(exclude=["text/html"])) == {"text/markdown"}


# Turns.


def test_a_turn_shows_how_far_it_is(client, cli):
    """Running, with its text and tools so far; done, with all of them."""
    heard = threading.Event()
    client.on_text(lambda text: heard.set())
    turn, user = ask(client, cli, f"Look {SCRIPT}")
    cli.say(
        builders.assistant(builders.tool_use("Read", {}, "t1")),
        builders.assistant(builders.tool_use("Bash", {}, "t2")),
        builders.assistant(builders.tool_use("Grep", {}, "t3")),
        builders.user([builders.tool_result("t1", "x"), builders.tool_result("t2", "no", True)]),
        builders.assistant("<b>**half"),
    )
    assert heard.wait(PATIENCE)
    shown = text_of(turn)
    assert shown.startswith(f"runningLook {SCRIPT}")
    assert "✓ Read" in shown
    assert "✗ Bash" in shown
    assert "… Grep" in shown
    assert shown.endswith("<b>**half")
    assert "`Bash` failed" in turn._repr_markdown_()
    assert TAG.search(turn._repr_markdown_()) is None
    cli.end_turn(user, "done")
    turn.result(PATIENCE)
    assert text_of(turn).startswith("doneLook")
    assert turn._repr_markdown_().startswith("**done** · ")


def test_queued_and_withdrawn_turns_say_so(client, cli):
    """Neither has a time, for neither was sent."""
    first, user = ask(client, cli)
    second = client.submit([{"type": "text", "text": "next"}])
    assert text_of(second) == "queueda question with blocks"
    assert second.cancel()
    assert text_of(second).startswith("withdrawn")
    cli.end_turn(user, "done")
    first.result(PATIENCE)


def test_a_failed_turn_says_why(client, cli):
    """The error's own words, escaped."""
    turn, _ = ask(client, cli)
    cli.print_error(f"died of {SCRIPT}")
    cli.hang_up(3)
    error = turn.exception(PATIENCE)
    assert isinstance(error, claude_sync.CliExited)
    assert text_of(turn).startswith("failed")
    assert "CliExited" in text_of(turn)
    assert SCRIPT in text_of(turn)
    assert "CliExited" in turn._repr_markdown_()


def test_a_display_waits_for_nobody(client, cli):
    """Not even for whoever holds the turn's lock and the client's."""
    turn, user = ask(client, cli)
    shown = []
    with turn._condition, client._session.connection.outbox._writing:
        looking = threading.Thread(
            target=lambda: shown.extend([turn._repr_html_(), client._repr_html_()])
        )
        looking.start()
        looking.join(PATIENCE)
        assert len(shown) == 2
    cli.end_turn(user, "done")
    turn.result(PATIENCE)


# Requests.


def test_a_request_shows_its_diff(client, cli, tmp_path):
    """Added and removed lines have colours; what they say is escaped."""
    path = tmp_path / "a.html"
    path.write_text("one\n<b>two</b>\n", encoding="utf-8")
    turn, user = ask(client, cli)
    change = {"file_path": str(path), "old_string": "<b>two</b>", "new_string": SCRIPT}
    request, asked = request_of(client, cli, "Edit", change, description="a <b>change</b>")
    html = request._repr_html_()
    shown = text_of(request)
    assert shown.startswith("openClaude wants to change a file")
    assert "a <b>change</b>" in shown
    lines = html.split("<span ")
    assert [line for line in lines if 'class="added"' in line and "+&lt;script" in line]
    assert [line for line in lines if 'class="removed"' in line and "-&lt;b&gt;two" in line]
    assert len([line for line in lines if 'class="added"' in line]) == 1
    assert "```diff" in request._repr_markdown_()
    request.allow()
    cli.expect_reply(asked)
    assert text_of(request).startswith("answered")
    cli.end_turn(user, "done")
    turn.result(PATIENCE)


def test_a_command_is_no_diff(client, cli):
    """A line that begins with a minus is not a removed one."""
    turn, user = ask(client, cli)
    request, asked = request_of(
        client, cli, "Bash", {"command": f"ls \\\n-l {SCRIPT}"}, title=f"Run {SCRIPT}?"
    )
    assert 'class="removed"' not in request._repr_html_()
    assert text_of(request).startswith(f"openRun {SCRIPT}?")
    assert f"-l {SCRIPT}" in text_of(request)
    request.deny()
    cli.expect_reply(asked)
    cli.end_turn(user, "done")
    turn.result(PATIENCE)


def test_questions_show_what_may_be_chosen(client, cli):
    """Each with its options."""
    got = []
    arrived = threading.Event()

    @client.on_question
    def later(questions):
        got.append(questions)
        arrived.set()
        return LATER

    turn, user = ask(client, cli)
    asked = cli.ask_permission("AskUserQuestion", QUESTION)
    assert arrived.wait(PATIENCE)
    shown = text_of(got[0])
    assert shown.startswith(f"openClaude asksWhich colour? {SCRIPT} any of")
    assert "Red as fire" in shown
    assert f"Blue {SCRIPT}" in shown
    assert "Which colour?" in got[0]._repr_markdown_()
    got[0].decline()
    cli.expect_reply(asked)
    cli.end_turn(user, "done")
    turn.result(PATIENCE)


# Clients.


def test_a_client_shows_what_it_does(client, cli):
    """State, model, session and cost; no settings, which may hold what is private."""
    assert "model sonnet" in text_of(Client(model="sonnet"))  # never started
    assert text_of(client).startswith("idlemy client")
    assert "model default" in text_of(client)
    turn, user = ask(client, cli)
    assert text_of(client).startswith("busy")
    other = client.submit("next")
    assert "queued 1" in text_of(client)
    other.cancel()
    cli.say(builders.assistant("done", model="claude-<b>"))
    cli.end_turn(user, "done", total_cost_usd=0.25)
    turn.result(PATIENCE)
    shown = text_of(client)
    assert "model claude-<b>" in shown
    assert f"session {client.session_id}" in shown
    assert "cost $0.2500" in shown
    assert "- cost: `$0.2500`" in client._repr_markdown_()
    for form in client._repr_mimebundle_().values():
        assert "sk-hidden" not in form
        assert "SECRET" not in form


# All of them.


class Broken(Answer):
    """An answer of which nothing can be read."""

    @property
    def text(self):
        raise RuntimeError("broken")


class Worse(Answer):
    """One that cannot even be named."""

    @property
    def text(self):
        raise RuntimeError("broken")

    def __repr__(self):
        raise RuntimeError("broken")


@pytest.mark.parametrize("kind", [Broken, Worse])
def test_a_display_never_raises(kind):
    """The plain text is shown instead."""
    thing = kind(f"plain {SCRIPT}")
    assert checked_text(html_of(thing), boxes=True) == f"plain {SCRIPT}"
    assert markdown_of(thing) == f"```\nplain {SCRIPT}\n```"


def test_other_things_are_shown_plainly():
    """Their repr, escaped; a class of its own kind has that kind's display."""
    assert html_of("<b>") == "<pre>&#x27;&lt;b&gt;&#x27;</pre>"

    class Unspeakable:
        def __repr__(self):
            raise RuntimeError("broken")

    assert html_of(Unspeakable()) == "<pre>&lt;Unspeakable&gt;</pre>"
    assert html_of(type("Mine", (Answer,), {})("*a*")).count("<em>") == 1


@example("a\n```\n<b>")
@example("a `` b")
@given(st.text(alphabet="`ab \n<", max_size=30))
def test_nothing_leaves_its_fence(text):
    """A text in a block, or in a span, is shown whole, whatever ticks it has."""
    shown = checked_text(markdown_to_html(fenced(text)))
    assert shown == f"{text}\n"
    words = " ".join(text.split())
    if words:
        html = markdown_to_html(f"x {code(text)} y")
        assert checked_text(html) == f"x {words} y"
        assert html.count("<code>") == 1
