"""A turn is shown whole, as HTML and as text, and nothing in it runs."""

import dataclasses
import os

from notebook_shells import running
from safe_html import checked_text

from claude_sync import Answer
from claude_sync.notebook.rendering import (
    Shown,
    bundle_of,
    cost_line,
    data_html,
    error_line,
    repr_of,
    turn_html,
    turn_text,
)

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>&lt;"


def text_of(html):
    """The text of HTML that holds nothing but what is allowed."""
    return checked_text(html, boxes=True)


def test_a_turn_is_shown_in_its_order():
    """Markdown, a line for each tool, and what it cost."""
    with running() as scene:
        scene.speak("I **look**.")
        scene.use_tool(given={"command": "ls"})
        scene.return_result("two files")
        scene.end(total_cost_usd=0.25, duration_ms=1500)
        html = turn_html(scene.turn)
        assert "<strong>look</strong>" in html
        text = text_of(html)
        assert text.index("look") < text.index("Bash") < text.index("two files")
        assert text.endswith("$0.2500 · 1.5 s · 19 tokens")
        assert turn_text(scene.turn) == "I **look**.\n✓ Bash ls\n$0.2500 · 1.5 s · 19 tokens"


def test_a_turn_that_runs_says_so():
    """And for how long."""
    with running() as scene:
        waiting = scene.client.submit("next")
        assert "waiting" in text_of(turn_html(waiting))
        waiting.cancel()
        assert "withdrawn" in text_of(turn_html(waiting))
        scene.until(lambda turn: turn.running())
        assert text_of(turn_html(scene.turn, Shown(seconds=12.7))) == "… working 12 s"
        scene.end()


def test_a_turn_that_failed_says_why():
    """In one line, below what there was."""
    with running() as scene:
        scene.speak("half an ans")
        scene.end("API Error: 529 overloaded", is_error=True)
        text = text_of(turn_html(scene.turn))
        assert text.startswith("half an ans")
        assert "Overloaded: " in text
        assert error_line(scene.turn.exception(0)) in turn_text(scene.turn)


@dataclasses.dataclass
class City:
    """What an answer may be."""

    name: str
    people: int


def test_rows_of_data_are_a_table():
    """Objects of one class, as rows; what is not alike is shown as Python has it."""
    html = data_html([City("<b>Oslo</b>", 700_000), City("Bergen", 290_000)])
    assert html.count("<tr>") == 3
    assert "<th>name</th><th>people</th>" in html
    assert "<td>&lt;b&gt;Oslo&lt;/b&gt;</td><td>700000</td>" in html
    assert data_html({"name": "Oslo"}).count("<tr>") == 2
    assert "48 more rows" not in data_html([City("x", 1)] * 50)
    assert "2 more rows" in data_html([City("x", 1)] * 52)
    for other in ([City("x", 1), {"name": "y"}], [], "text", 5, {}):
        assert data_html(other).startswith("<pre>")


def test_what_was_decided_stands_where_it_happened():
    """Beside the use of the tool that somebody was asked about."""
    with running() as scene:
        scene.use_tool(given={"command": "ls"})
        shown = Shown(decisions={"t1": "allowed"})
        assert turn_text(scene.turn, shown) == "… Bash ls (allowed)"
        assert "<code>ls</code> (allowed)" in turn_html(scene.turn, shown)
        scene.end()


def test_an_error_that_is_raised_below_is_not_told_twice():
    """Only where nothing else tells it."""
    with running() as scene:
        scene.end("API Error: 529 overloaded", is_error=True)
        shown = Shown(with_error=False)
        assert "Overloaded" not in turn_html(scene.turn, shown) + turn_text(scene.turn, shown)


def test_the_money_of_clients_before_is_counted():
    """A notebook that had to begin another client does not forget."""
    answer = Answer("x")
    answer.cost_usd, answer.total_cost_usd = 0.5, 0.5
    assert cost_line(answer).startswith("$0.5000 · 0.0 s")
    assert cost_line(answer, 1.0).startswith("$0.5000 · $1.5000 so far · ")


def test_nothing_that_is_said_becomes_an_element():
    """Whoever says it."""
    with running() as scene:
        scene.speak(HOSTILE)
        scene.speak(
            f"> {HOSTILE}\n\n```html\n{HOSTILE}\n```\n[x](javascript:alert(1)) ![y](http://x/y)"
        )
        scene.use_tool(HOSTILE, {HOSTILE: HOSTILE})
        scene.use_tool("mcp__s__" + HOSTILE, {"x": [HOSTILE]}, use_id="t2")
        scene.return_result(HOSTILE, is_error=True)
        html = turn_html(scene.turn)
        assert text_of(html).count("alert(1)") > 5
        assert "<script" not in html
        assert "<img" not in html
        scene.end(f"API Error: {HOSTILE}", is_error=True, structured_output={"x": HOSTILE})
        html = turn_html(scene.turn)
        assert text_of(html).count("alert(1)") > 5
        assert "<script" not in html
        assert "{'x'" in turn_text(scene.turn)


def test_files_of_the_folder_are_named_without_it(tmp_path):
    """Others with all of it."""
    with running(cwd=str(tmp_path)) as scene:
        scene.use_tool("Read", {"file_path": str(tmp_path / "a" / "b.py")})
        scene.use_tool("Read", {"file_path": f"{tmp_path}x/c.py"}, use_id="t2")
        first, second = turn_text(scene.turn).splitlines()
        assert first == f"… Read {os.path.join('a', 'b.py')}"
        assert second == f"… Read {tmp_path}x/c.py"
        assert f"<code>{os.path.join('a', 'b.py')}</code>" in turn_html(scene.turn)
        scene.end()


def test_details_are_bounded():
    """A notebook keeps its outputs in its file."""
    with running() as scene:
        scene.use_tool("Write", {"content": "y" * 50_000})
        scene.return_result("z" * 5000)
        html = turn_html(scene.turn)
        assert "… 1,000 more characters" in html
        assert len(html) < 20_000
        scene.end()


class Shy:
    """Has no repr."""

    def __repr__(self):
        raise RuntimeError


def test_data_that_cannot_show_itself_is_named():
    """And nothing is raised."""
    assert repr_of(Shy()) == "<Shy, whose repr fails: RuntimeError>"
    assert repr_of([1]) == "[1]"


def test_plain_text_commands_no_terminal():
    """Some front ends print it on one."""
    with running() as scene:
        scene.end("red \x1b[31mwords\n\tand more")
        assert set(bundle_of(scene.turn)) == {"text/html", "text/plain"}
        assert bundle_of(scene.turn)["text/plain"].startswith("red \\x1b[31mwords\n\tand more\n$")
