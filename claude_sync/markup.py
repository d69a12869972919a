"""
Markdown, as models write it, into HTML that is safe to show.

::

    from claude_sync.markup import markdown_to_html

    markdown_to_html("Use **`git status`** first.")
    # '<p>Use <strong><code>git status</code></strong> first.</p>'

Headings, emphasis, code, lists, tables, quotes, links and rules. Whatever the
text holds,

* nothing in it runs: HTML shows as text, links lead to http, https and mailto
  only, images are links and nothing is loaded;
* it may be half written: an open block of code runs to the end, and the next
  call with a longer text shows more of it;
* the time taken grows with its length and with nothing else.
"""

from __future__ import annotations

from .markup_blocks import blocks_html
from .markup_inline import escape, safe_link

__all__ = ["escape", "markdown_to_html", "safe_link"]


def markdown_to_html(text: str) -> str:
    """
    The HTML of a Markdown *text*, for an element of a page that is not a paragraph.

    Its elements have no styles but the alignment of a table's columns; code has the
    class ``language-NAME``. Never raises for a string.
    """
    return blocks_html(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
