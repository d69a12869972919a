"""Exported conversations: what is in the Markdown, the HTML and the JSON, and what is not."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
from html.parser import HTMLParser

import pytest
from export_scenes import HOSTILE, rich_session
from image_samples import png
from saved_sessions import Saved, conversation

import claude_sync
from claude_sync import UsageError
from claude_sync.render import Chat, Picture, Step
from claude_sync.render.documents import written
from claude_sync.render.html import LONGEST_TEXT, picture_html

ALLOWED = {
    *("main", "nav", "h1", "h2", "section", "div", "span", "p", "details", "summary", "b", "code"),
    *("pre", "img", "a", "strong", "em", "table", "thead", "tbody", "tr", "th", "td"),
    *("ol", "ul", "li", "blockquote", "hr", "br"),
}
PNG = base64.b64encode(png(4, 4)).decode()


class Elements(HTMLParser):
    """Which elements there are, and which attributes."""

    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.addresses = set(), set(), []

    def handle_starttag(self, tag, attrs):
        """Note them."""
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]


@pytest.fixture
def config(tmp_path):
    """Where the CLI keeps its conversations."""
    return tmp_path


def exported(config, saved, format):
    """A saved conversation as a text."""
    return claude_sync.export(saved.session_id, format=format, config_dir=config)


def test_markdown_has_everything_in_order(config):
    """Who said what, the tools with what they returned, the change as a diff."""
    text = exported(config, rich_session(config), "md")
    order = [
        "# Fix the function area, please.",
        "claude-x · session ",
        "## You\n\nFix the function area, please.\nIt is in shapes.py.",
        "## Claude\n\n*thought:*\n\n> Let me look at it first.",
        "I will look.",
        "**✓ `Read`** done",
        "file_path: shapes.py",
        "**✓ `Edit`** done\n\n`shapes.py`\n\n```diff\n@@ line 1 @@\n-def area(height",
        "+    return width * height",
        "**✗ `Bash`** failed\n\n```\n$ pytest -q",
        "exit code 1: no module named pytest",
        "![image](data:image/png;base64,",
        "#### What I found",  # below our own headings
        "## You\n\nThanks!",
        "## Where the time went",
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


def test_html_shows_the_same(config):
    """Tools are folded, what changed a file is unfolded and coloured, pictures are inside."""
    html = exported(config, rich_session(config), "html")
    assert html.startswith("<!DOCTYPE html>")
    assert '<span class="removed">-def area(height, width):</span>' in html
    assert '<span class="added">+def area(width, height):</span>' in html
    assert len(re.findall("<details>", html)) == 3  # thinking, Read, Bash
    assert len(re.findall("<details open>", html)) == 2  # Edit, the picture
    assert '<img alt="image" src="data:image/png;base64,' in html
    assert "<th>argument</th>" in html
    assert "<svg" in html  # the timeline
    assert "prefers-color-scheme: dark" in html


def test_json_shortens_nothing(config):
    """It is the one to compute with."""
    saved = rich_session(config, hostile=True)
    told = json.loads(exported(config, saved, "json"))
    assert (told["format"], told["session_id"]) == (1, saved.session_id)
    kinds = [step["kind"] for step in told["steps"]]
    assert kinds[:5] == ["user", "thinking", "claude", "tool", "tool"]
    assert told["steps"][-1]["text"] == "y" * 300_000
    edit = told["steps"][4]
    assert (edit["tool"], edit["state"]) == ("Edit", "done")
    assert edit["diff"][1] == "-def area(height, width):"


def test_nothing_in_the_html_runs_or_is_loaded(config):
    """Hostile texts, in every place where a text can be, are texts."""
    html = exported(config, rich_session(config, hostile=True), "html")
    assert "&lt;script&gt;" in html
    assert "<script" not in html.lower()
    assert "default-src 'none'" in html
    body = html[html.index("<body>") :]
    assert not re.search(r"<[a-z]+[^>]*\son\w+=", body)
    assert not re.search(r"<(?:iframe|object|embed|link|base|form|meta|style)\b", body)
    assert HOSTILE not in html
    elements = Elements()
    elements.feed(html[html.index("<main") : html.index('<section class="timeline">')])
    assert elements.names <= ALLOWED
    known = ("#turn-", "data:image/png;base64,", "http://127.0.0.1:9/", "https://example.org/")
    assert all(address.startswith(known) for address in elements.addresses)
    assert elements.attributes <= {
        "class",
        "id",
        "open",
        "alt",
        "src",
        "href",
        "target",
        "rel",
        "style",
    }


def test_long_texts_are_cut_and_counted(config):
    """A page of a hundred thousand signs is enough; the JSON has all."""
    chat = Chat([Step("user", "x" * (LONGEST_TEXT + 1234)), Step("tool", "y" * 200_000, tool="T")])
    for text in (written(chat, "html"), written(chat, "md")):
        assert "… 1,234 more characters" in text
        assert "… 100,000 more characters" in text


@pytest.mark.parametrize(
    "picture",
    [
        Picture("image/svg+xml", base64.b64encode(b"<svg onload='x'/>").decode()),
        Picture("image/png", '"><script>abc</script>'),
        Picture("text/html", PNG),
        Picture("image/png", ""),
        Picture("", "", "javascript:alert(1)"),
        Picture("", "", "file:///etc/passwd"),
    ],
)
def test_what_is_no_harmless_picture_is_not_shown(picture):
    """No SVG, which can hold scripts; nothing that leaves its attribute; no other addresses."""
    assert picture_html(picture) == '<p class="note">an image that cannot be shown</p>'
    elsewhere = picture_html(Picture("", "", "https://example.org/x.png"))
    assert 'href="https://example.org/x.png"' in elsewhere
    assert "<img" not in elsewhere  # whoever opens the page tells nobody


def test_a_text_cannot_leave_its_block_of_markdown():
    """Fences in what a tool said are inside of a longer one; an open one of Claude's is closed."""
    chat = Chat(
        [
            Step("tool", "```\n# no heading\n```", tool="Read"),
            Step("claude", "# mine\n```\n# code"),
            Step("user", "next"),
        ],
        title="a\nb",
    )
    text = written(chat, "md")
    assert text.startswith("# a b\n")
    assert "````\n```\n# no heading\n```\n````" in text
    assert "### mine\n```\n# code\n```\n\n## You\n\nnext" in text


def test_the_file_decides_about_the_format(config, tmp_path):
    """By its ending, or as told."""
    saved = conversation(config, "hello")
    for name, beginning in (("a.md", "# hello"), ("a.HTML", "<!DOCTYPE"), ("a.json", "{")):
        path = claude_sync.export(saved.path, tmp_path / name)
        assert path == tmp_path / name
        assert path.read_text(encoding="utf-8").startswith(beginning)
    claude_sync.export(saved.path, tmp_path / "page", format="html", title="Mine <b>")
    assert "<title>Mine &lt;b&gt;</title>" in (tmp_path / "page").read_text()


@pytest.mark.parametrize(
    ("path", "settings", "words"),
    [
        ("a.pdf", {}, r"\.md, \.html or \.json"),
        (None, {}, r"\.md, \.html or \.json"),
        ("a.md", {"format": "pdf"}, "md, html, json"),
        ("no-folder/a.md", {}, "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused(config, tmp_path, path, settings, words):
    """In words, and without a file."""
    saved = conversation(config, "hello")
    target = None if path is None else tmp_path / path
    with pytest.raises(UsageError, match=words):
        claude_sync.export(saved.path, target, **settings)


def test_half_a_letter_does_not_stop_an_export(config, tmp_path):
    """JSON can hold what UTF-8 cannot."""
    saved = Saved(config)
    saved.user("half \ud83d a letter")
    saved.save()
    for name in ("a.md", "a.html", "a.json"):
        text = claude_sync.export(saved.path, tmp_path / name).read_text(encoding="utf-8")
        assert "half ? a letter" in text or "half \\ud83d" in text or "half � a" in text


def test_a_failure_leaves_the_file_that_was_there(config, tmp_path, monkeypatch):
    """It is replaced when all is written, with the rights that it had; devices are written to."""
    saved = conversation(config, "hello")
    target = tmp_path / "chat.md"
    target.write_text("what was there")
    target.chmod(0o640)
    (tmp_path / "link.md").symlink_to(target)

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(UsageError, match="No space left"):
            claude_sync.export(saved.path, target)
    assert target.read_text() == "what was there"
    assert claude_sync.export(saved.path, tmp_path / "link.md") == tmp_path / "link.md"
    assert target.read_text().startswith("# hello")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert (tmp_path / "link.md").is_symlink()
    assert [path.name for path in tmp_path.glob(".*")] == []
    assert str(claude_sync.export(saved.path, os.devnull, format="md")) == os.devnull


def test_markdown_is_published_without_fear():
    """HTML shows as text, and pictures are pictures; so it is in everything that was said."""
    evil = "<script>x</script>"
    steps = [Step(kind, f"a\n{evil}") for kind in ("user", "claude", "thinking", "summary", "note")]
    steps += [Step("end", evil, state="failed")]
    steps += [Step("user", pictures=(Picture(f"image/png) {evil} (", "AAAA"),))]
    text = written(Chat(steps, title=evil, cwd="/srv/shop"), "md")
    assert text.count("\\<script>x\\</script>") == 7
    assert text.count("<script>") == 7
    assert text.endswith("*an image*\n")
