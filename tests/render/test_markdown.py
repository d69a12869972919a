"""Markdown into HTML: what models write is shown, and nothing of it runs."""

from __future__ import annotations

import logging
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safe_html import checked_text
from tables import each

from claude_sync.markup import escape, markdown_to_html, safe_link
from claude_sync.render import markdown


def joined(html):
    """HTML without the line ends between elements, which mean nothing."""
    return re.sub(r"(?<=>)\n+|\n+(?=<)", "", html)


def shows(text, html):
    """Whether a text becomes this HTML, whose elements and attributes are safe."""
    found = markdown_to_html(text)
    checked_text(found)
    return joined(found) == joined(html)


def link(href, text):
    """A link as it is written."""
    return f'<a href="{href}" target="_blank" rel="noopener noreferrer">{text}</a>'


@each(
    ("text", "html"),
    [
        ("", ""),
        ("one\r\ntwo\rthree", "<p>one\ntwo\nthree</p>"),
        ("***both*** __bold__", "<p><em><strong>both</strong></em> <strong>bold</strong></p>"),
        ("snake_case_name 2 * 3 * 4", "<p>snake_case_name 2 * 3 * 4</p>"),
        ("~~gone~~ ~5 minutes~", "<p><del>gone</del> ~5 minutes~</p>"),
        ("**終わり。**次", "<p><strong>終わり。</strong>次</p>"),
        ("`` a`b ``", "<p><code>a`b</code></p>"),
        ("two  \nlines\\\nthree", "<p>two<br>\nlines<br>\nthree</p>"),
        ("&lt;b&gt; &nope; &#0;", "<p>&lt;b&gt; &amp;nope; \ufffd</p>"),
        ("# C#\n---\n> said", "<h1>C#</h1>\n<hr>\n<blockquote>\n<p>said</p>\n</blockquote>"),
        ("3. a\n   - b", '<ol start="3">\n<li>a\n<ul>\n<li>b</li>\n</ul></li>\n</ol>'),
        ("- [ ] a\n- [x] b\n- [link]", "<ul>\n<li>☐ a</li>\n<li>☑ b</li>\n<li>[link]</li>\n</ul>"),
        ("```\na < b\n\n c\n```\nend", "<pre><code>a &lt; b\n\n c\n</code></pre>\n<p>end</p>"),
        ("```c++\nx", '<pre><code class="language-c++">x\n</code></pre>'),
        ('```"><script>\nx\n```', "<pre><code>x\n</code></pre>"),
        ("    four", "<pre><code>four\n</code></pre>"),
    ],
)
def test_what_people_know_of_markdown_works(text, html):
    """Emphasis, lists, also of tasks, quotes, and code, which is shown as it is."""
    assert shows(text, html)


def test_tables():
    """Columns are aligned, cells have markup, bars can be escaped, missing cells are empty."""
    text = "Results:\n| a | b |\n|:-:|--:|\n| `x` | 1 \\| 2<br>3 | more |\n| y\n\nend"
    assert shows(
        text,
        "<p>Results:</p>\n<table>\n<thead>\n"
        '<tr><th style="text-align:center">a</th><th style="text-align:right">b</th></tr>\n'
        "</thead>\n<tbody>\n"
        '<tr><td style="text-align:center"><code>x</code></td>'
        '<td style="text-align:right">1 | 2<br>3</td></tr>\n'
        '<tr><td style="text-align:center">y</td><td style="text-align:right"></td></tr>\n'
        "</tbody>\n</table>\n<p>end</p>",
    )


@each(
    ("text", "html"),
    [
        ("[a](http://x.de/b)", link("http://x.de/b", "a")),
        ('[a *b*](<https://x.de/b c> "t")', "a <em>b</em> (https://x.de/b c)"),
        ('[a](https://x.de "title")', link("https://x.de", "a")),
        ("[a](https://x.de/y_(z))", link("https://x.de/y_(z)", "a")),
        ("![alt](https://x.de/p.png)", link("https://x.de/p.png", "alt")),
        ("[](https://x.de)", link("https://x.de", "https://x.de")),
        ("[https://x.de](https://y.de)", link("https://y.de", "https://x.de")),
        ("<https://x.de/a&b>", link("https://x.de/a&amp;b", "https://x.de/a&amp;b")),
        ("<me@x.de>", link("mailto:me@x.de", "me@x.de")),
        ("see https://x.de/a_b_c.", f"see {link('https://x.de/a_b_c', 'https://x.de/a_b_c')}."),
        ("(https://x.de/a)", f"({link('https://x.de/a', 'https://x.de/a')})"),
        ("**https://x.de**", f"<strong>{link('https://x.de', 'https://x.de')}</strong>"),
        ("[src/a.py](src/a.py)", "src/a.py"),
        ("[line 3](src/a.py#3)", "line 3 (src/a.py#3)"),
        ("[half](https://x.d", f"[half]({link('https://x.d', 'https://x.d')}"),
        ("[a] (b) a]b", "[a] (b) a]b"),
        ("http:// xhttps://x", "http:// xhttps://x"),
    ],
)
def test_links(text, html):
    """Addresses become links, however they are written, and lose the sentence's full stop."""
    assert shows(text, f"<p>{html}</p>")


def test_links_do_not_hold_links():
    """Of an image in a link, the address is text, and not lost."""
    html = markdown_to_html("[![i](https://x.de/i)](https://y.de/j)")
    assert html.count("<a ") == 1
    assert checked_text(html) == "i (https://x.de/i)"


BAD_ADDRESSES = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "javascript&colon;alert(1)",
    "java&#10;script:alert(1)",
    "java\tscript:alert(1)",
    "&#x01;javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example/x",
    "/etc/passwd",
    "https://x\ty",
    "https://x&#10;y",
    "https:x",
    "http://" + "a" * 3000,
    "",
]


@each("address", BAD_ADDRESSES)
def test_what_must_not_be_followed_is_no_link(address):
    """Scripts, data, files and relative addresses are never an href, in any notation."""
    assert safe_link(address) is None
    for text in (f"[a]({address})", f"[a](<{address}>)", f"![a]({address})", f"<{address}>"):
        html = markdown_to_html(text)
        checked_text(html)
        assert 'href="java' not in html.lower()
        assert "<script" not in html.lower()


def test_an_address_cannot_leave_its_attribute():
    """Quotes in an address are escaped."""
    html = markdown_to_html("[a](http://x\"onclick='alert(1)')")
    checked_text(html)
    assert safe_link('http://x"onclick="y') == "http://x&quot;onclick=&quot;y"


@each(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b>c</b>\n<!-- d -->",
        "<details><summary>x</summary></details>",
        "- <style>*{display:none}</style>",
        "| <i> |\n|---|\n| <svg/onload=alert(1)> |",
        "`<b>` and **<b>**",
        "# <h1>",
        "line<br>break",
    ],
)
def test_html_shows_as_text(text):
    """Whatever tags a model writes are read, not obeyed."""
    shown = checked_text(markdown_to_html(text))
    tag = text[text.index("<") : text.index(">") + 1]
    assert tag in shown


def test_escape_leaves_nothing_to_a_parser():
    """Signs, quotes, and what no page can carry."""
    assert escape("<a b=\"c\" d='e'>&amp;") == (
        "&lt;a b=&quot;c&quot; d=&#x27;e&#x27;&gt;&amp;amp;"
    )
    assert escape("a\x00\x1b[31m\ud800\n\t") == "a\ufffd\ufffd[31m\ufffd\n\t"


LIVELY = (
    "# Title\n\nSome **bold** text with `code` and [a link](https://example.org/a_(b)).\n\n"
    "| a | b |\n|---|--:|\n| 1 | 2 |\n\n- one\n  - two\n\n    ```python\n    x < 1\n    ```\n"
    "1. three\n\n> quoted *text*\n\n---\n<b>raw</b> ~~gone~~ https://example.org.\n\n```\nend"
)


@each("size", range(len(LIVELY) + 1))
def test_half_written_text_is_shown(size):
    """While an answer streams, each beginning of it is good HTML with every word in it."""
    text = LIVELY[:size]
    shown = checked_text(markdown_to_html(text))
    words = [word for word in ("Title", "bold", "code", "one", "two", "quoted") if word in text]
    assert all(word in shown for word in words)


SIGNS = st.sampled_from(
    [
        *"*_`~[]()<>!#|-+>&\\:\"'= \n\t.1ax)",
        "\n\n",
        "```",
        "http://",
        "javascript:",
        "<b>",
        "](",
        "\x00",
    ]
)


@settings(max_examples=400)
@given(st.one_of(st.lists(SIGNS, max_size=60).map("".join), st.text(max_size=60)))
def test_any_text_gives_safe_html(text):
    """Only elements and attributes of the list, closed in order; and never an exception."""
    checked_text(markdown_to_html(text))


@settings(max_examples=200)
@given(st.text(alphabet="abc <>&\"'", min_size=1, max_size=40))
def test_no_character_of_plain_text_is_lost(text):
    """Text without markup is shown as it was written."""
    shown = checked_text(markdown_to_html("x" + text))
    assert " ".join(shown.split()) == " ".join(("x" + text).split())


HOSTILE = {
    "mixed stars": "**a*",
    "stars and lines": "*_",
    "tildes": "~~a",
    "opening brackets": "[",
    "images": "![",
    "links with an address": "[a](b",
    "closed brackets": "[]",
    "open code": "`a``",
    "quotes": "> ",
    "bullets": "- ",
    "numbers and bullets": "1. a\n  - b\n",
    "rows": "|a|b|\n",
    "tables": "a|b\n-|-\n",
    "angles": "<",
    "addresses": "http://",
    "parentheses": "http://x)",
    "dollars": "$a",
    "breaks": "<br",
}


@pytest.mark.parametrize("size", [20_000, pytest.param(100_000, marks=pytest.mark.everything)])
@each("name", HOSTILE)
def test_a_long_hostile_text_is_shown(name, size):
    """In the square of the length this would take minutes each; it takes a moment."""
    text = HOSTILE[name] * (size // len(HOSTILE[name]))
    html = markdown_to_html(text)
    assert len(html) < 30 * len(text)


@each("line", ["> ", "- ", "1. ", "  "])
def test_nesting_without_end_is_text(line):
    """Lines nested deeper each time neither fail nor take the square of their number."""
    lines = "\n".join(line * depth + "word" for depth in range(1, 300))
    shown = checked_text(markdown_to_html(lines), boxes=True)
    assert shown.count("word") == 299


@pytest.mark.parametrize("depth", [10, 18, 19, 20, 40])
def test_a_deep_list_loses_nothing(depth):
    """The parser leaves out what is too deep."""
    items = [f"item-{number}." for number in range(depth)]
    text = "\n".join("  " * number + f"- {item}" for number, item in enumerate(items))
    shown = checked_text(markdown_to_html(text), boxes=True)
    assert [item for item in items if item not in shown] == []


@each(
    ("text", "shown"),
    [
        (
            "It costs $5 now and $10 later",
            "It costs <span>$</span>5 now and <span>$</span>10 later",
        ),
        ("$x^2$ and $$a_1 *b*$$", "$x^2$ and $$a_1 *b*$$"),
        (
            "$5-$10, $ 7$, \\$3",
            "<span>$</span>5-<span>$</span>10, <span>$</span> 7<span>$</span>, <span>$</span>3",
        ),
        ("`$x$` **$5**", "<code>$x$</code> <strong><span>$</span>5</strong>"),
        ("$a<b$", "$a&lt;b$"),
    ],
)
def test_prices_are_no_mathematics(text, shown):
    """Where a page typesets formulas: as pandoc tells one from the other."""
    assert markdown_to_html(text, maths=True) == f"<p>{shown}</p>"
    assert "<span>" not in markdown_to_html(text)


def test_code_has_colours():
    """By classes; of a language that nobody knows it is text."""
    html = markdown_to_html("```python\nreturn '<b>'  # why\n```")
    assert '<span class="k">return</span>' in html
    assert checked_text(html) == "return '<b>'  # why\n"
    assert "<span" not in markdown_to_html("```klingon\nreturn 1\n```")


def test_what_is_too_long_is_text(monkeypatch):
    """The whole, a paragraph, a block of code: each is shown as it is."""
    monkeypatch.setattr(markdown, "LONGEST_PARAGRAPH", 20)
    assert markdown_to_html("**a** b\n\n**" + "c" * 20) == (
        "<p><strong>a</strong> b</p>\n<p>\n**" + "c" * 20 + "</p>"
    )
    monkeypatch.setattr(markdown, "LONGEST_CODE", 5)
    assert "<span" not in markdown_to_html("```python\nreturn 1\n```")
    monkeypatch.setattr(markdown, "LONGEST", 5)
    assert markdown_to_html("**<b>**") == '<pre class="typed">**&lt;b&gt;**</pre>'


def test_without_the_parser_a_text_is_shown_as_it_is(monkeypatch, caplog):
    """And the log says once what to install."""
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    markdown.markdown_parser.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, "claude_sync"):
            assert markdown_to_html("**<b>**\nx") == '<pre class="typed">**&lt;b&gt;**\nx</pre>'
            assert markdown_to_html("  ") == ""
    finally:
        markdown.markdown_parser.cache_clear()
    assert caplog.text.count("pip install markdown-it-py") == 1
