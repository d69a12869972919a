"""Exports of real conversations, opened in a real browser: seen, folded, and harmless."""

from __future__ import annotations

import importlib.util

import pytest
from export_scenes import HOSTILE, LINKS, rich_session
from jupyter_lab import chromium_path
from patience import PATIENCE

import claude_sync
from claude_sync.permissions import policies
from claude_sync.testing.model import text, tool_use

# Neither a page nor a policy decides about these; they are asked of the browser itself.
VISIBLE = "element => element.getBoundingClientRect().height > 0"


@pytest.fixture(scope="module")
def browser():
    """A browser that was never used before."""
    if chromium_path() is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("needs Chromium and playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        found = playwright.chromium.launch(executable_path=chromium_path(), args=flags)
        yield found
        found.close()


@pytest.fixture
def opened(browser):
    """Open a file in a page of its own; ``requests`` has what it wanted to load."""
    contexts = []

    def open_file(path, **settings):
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.requests = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()


def test_a_live_client_is_exported(client_of, model, tmp_path):
    """All that was said so far is there, the tool and its diff, the cost and the timeline."""
    model.when("make a file").reply(
        [text("I will."), tool_use("Write", {"file_path": "made.txt", "content": "new line\n"})]
    ).then_reply("It is **there**.")
    client = client_of(permissions=policies.allow_all)
    with client:
        client.ask("make a file", timeout=PATIENCE)
        client.ask("second question", timeout=PATIENCE)
        path = claude_sync.export(client, tmp_path / "chat.html")
        markdown = claude_sync.export(client, format="md")
        cost = client.cost_usd
    html = path.read_text(encoding="utf-8")
    assert '<span class="added">+new line</span>' in html
    assert "<strong>there</strong>" in html
    assert "<svg" in html
    assert f"${cost:.4f}" in html
    assert "## You\n\nmake a file\n\n## Claude\n\nI will.\n" in markdown
    assert markdown.index("It is **there**.") < markdown.index("second question")
    assert "echo: second question" in markdown


def test_a_recording_and_the_saved_session_tell_the_same(client_of, model, home, tmp_path):
    """Both ways lead to the same words, tools and results."""
    model.when("run it").reply(tool_use("Bash", {"command": "echo one; touch made"})).then_reply(
        "It ran."
    )
    record = tmp_path / "x.jsonl"
    with client_of(permissions=policies.allow_all, record=record) as client:
        client.ask("run it", timeout=PATIENCE)
        client.ask("and now?", timeout=PATIENCE)
        session = client.session_id
    told = []
    config = model.environment(home)["CLAUDE_CONFIG_DIR"]
    for chat in (
        claude_sync.render.sources.chat_of(record),
        claude_sync.render.sources.chat_of(session, config_dir=config),
    ):
        steps = [step for step in chat.steps if step.kind != "end"]
        told.append([(step.kind, step.tool, step.text, step.state) for step in steps])
        assert chat.session_id == session
        assert len(chat.timeline.turns) == 2
    assert told[0] == told[1]
    assert told[0][1][:2] == ("tool", "Bash")


@pytest.mark.everything
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_without_a_script(new_cli, opened, tmp_path, scheme):
    """Folded tools unfold, the picture is there, colours follow the scheme, nothing is loaded."""
    saved = rich_session(tmp_path)
    path = claude_sync.export(saved.path, tmp_path / "chat.html")
    page = opened(path, color_scheme=scheme, java_script_enabled=False)
    assert page.requests[0] == path.as_uri()
    assert all(url.startswith("data:image/png") for url in page.requests[1:])
    folded = page.locator("details", has_text="Bash").first
    result = folded.get_by_text("exit code 1: no module named pytest")
    assert not result.is_visible()
    folded.locator("summary").click()
    assert result.is_visible()
    assert page.get_by_text("def area(width, height):").first.is_visible()
    assert page.locator("img").bounding_box()["width"] == pytest.approx(66, abs=3)
    shot = tmp_path / f"{scheme}.png"
    page.screenshot(path=str(shot), full_page=True)
    from PIL import Image

    with Image.open(shot) as picture:
        corner = picture.convert("L").getpixel((2, 2))
        width = picture.width
    assert (corner > 200) is (scheme == "light")
    assert width == 1280  # nothing is wider than the page
    # The timeline fits as well, without a bar to scroll it by.
    timeline = page.locator(".timeline")
    assert timeline.locator("svg").first.bounding_box()["width"] <= timeline.bounding_box()["width"]


def test_nothing_hostile_runs_or_is_loaded(new_cli, opened, tmp_path):
    """Scripts, handlers, frames, styles, addresses, and lines without an end: all are text."""
    saved = rich_session(tmp_path, hostile=True)
    path = claude_sync.export(saved.path, tmp_path / "chat.html")
    page = opened(path, viewport={"width": 800, "height": 600})
    for summary in page.locator("summary").all():
        summary.click()
    for link in page.locator("a").all():
        assert link.get_attribute("href").startswith(("http://", "https://"))
    assert page.evaluate("window.ran === undefined")
    assert page.evaluate("document.scripts.length") == 0
    assert page.url == path.as_uri()
    assert all(url.startswith(("data:image/png", "file:")) for url in page.requests)
    assert page.locator("iframe, object, embed, link, base, form").count() == 0
    assert page.locator("main").evaluate(VISIBLE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    assert page.get_by_text(HOSTILE[:30]).count() > 3
    assert "javascript:" in LINKS


def test_even_a_script_that_got_in_would_not_run(new_cli, opened, tmp_path):
    """The page forbids itself scripts and the network: a second wall behind the first."""
    path = claude_sync.export(rich_session(tmp_path).path, tmp_path / "chat.html")
    html = path.read_text(encoding="utf-8")
    # All but the last, with which a page goes elsewhere by itself: no policy forbids that.
    inside = HOSTILE.partition("<meta")[0]
    path.write_text(html.replace("</main>", f"{inside}<script src='x.js'></script></main>"))
    page = opened(path)
    assert page.evaluate("window.ran === undefined")
    assert page.evaluate("document.scripts.length") == 2  # there they are
