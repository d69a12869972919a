"""Check HTML for tests: only what is allowed, and every element closed where it must be."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["checked_text"]

VOID = {"br", "hr"}
PLAIN = "blockquote br del em h1 h2 h3 h4 h5 h6 hr li p pre strong table tbody thead tr ul"
ALLOWED = {
    "a": {"href", "rel", "target"},
    "code": {"class"},
    "span": {"class"},
    "ol": {"start"},
    "td": {"style"},
    "th": {"style"},
    **{name: set() for name in PLAIN.split()},
}
# What displays add to it: boxes with inline styles, and what a reader folds.
BOXES = {name: {"class"} for name in ("div", "span", "summary", "pre", "b")}
BOXES.update(details={"open"}, style=set(), table={"class"})
ALIGNMENTS = {"text-align:center", "text-align:right", "text-align:left"}


class Checker(HTMLParser):
    """Fails at the first thing that is not allowed; collects the text."""

    def __init__(self, allowed):
        super().__init__(convert_charrefs=True)
        self.allowed = allowed
        self.open = []
        self.texts = []

    def handle_starttag(self, tag, attrs):
        assert tag in self.allowed, f"<{tag}> is not allowed"
        for name, value in attrs:
            assert name in self.allowed[tag], f"<{tag} {name}> is not allowed"
            self.check(tag, name, value)
        if tag not in VOID:
            self.open.append(tag)

    def check(self, tag, name, value):
        if name == "href":
            assert value.lower().startswith(("http://", "https://", "mailto:"))
            assert not set(value) & set("\t\r\n\x00 ")
        elif name == "style" and tag in ("td", "th"):
            assert value in ALIGNMENTS
        elif name == "start":
            assert value.isdigit()
        elif name == "class":
            assert tag != "code" or value.startswith("language-")
            assert re.fullmatch(r"[\w.+# -]*", value)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:  # of ours, as texts cannot have one
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl):
        raise AssertionError(f"a declaration: {decl!r}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data!r}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data!r}")


def checked_text(html, boxes=False):
    """The text of *html*, which holds only what is allowed; with *boxes*, what displays may."""
    checker = Checker({**ALLOWED, **BOXES} if boxes else ALLOWED)
    checker.feed(html)
    checker.close()
    assert not checker.open, f"not closed: {checker.open}"
    return "".join(checker.texts)
