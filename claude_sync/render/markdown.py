"""
Markdown, as models write it, into HTML that is safe to show.

::

    text -> markdown-it-py's tokens -> [markdown] -> HTML of a few elements

Whatever the text holds,

* nothing in it runs: HTML shows as text, links lead to http, https and mailto
  only, images are links and nothing is loaded;
* it may be half written: an open block of code runs to the end, and the next
  call with a longer text shows more of it;
* what is too long or too deeply nested to be parsed in a moment is shown as text.

Pygments colours code, by classes that ``chat.css`` knows. Both packages are extras:
without markdown-it-py the text is shown as it is, and the log says once what to install.
"""

from __future__ import annotations

import functools
import html
import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..log import logger

__all__ = ["code_html", "code_pieces", "escape", "markdown_to_html", "markdown_tokens", "safe_link"]

# What is longer is shown as text, each for itself: the whole, a paragraph, a block of code.
LONGEST = 500_000
LONGEST_PARAGRAPH = 20_000
LONGEST_CODE = 30_000
# The parser looks at each opening bracket from each closing one.
MOST_BRACKETS = 300
# Each level of nesting reads the lines once more, so a text with a line that might be too deep is
# not parsed at all. The parser loses what is nested deeper than its own limit, and a list is two
# levels: what comes near is shown as text, too.
DEEPEST = 40
TOO_DEEP = re.compile(
    rf"^[ \t]*(?:(?:>|[-+*]|\d{{1,9}}[.)])[ \t]*){{{DEEPEST // 2},}}", re.MULTILINE
)

# The schemes that a click may follow. All others, and relative links, stay text.
LINKABLE = re.compile(r"(?:https?://|mailto:)[^\x00-\x20\x7f]+\Z", re.IGNORECASE)
LONGEST_LINK = 2_000
BARE_LINK = re.compile(r"(?<![^\W_])https?://[^\s<>\"`|\\^{}\[\]]+", re.IGNORECASE)
LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")
LINE_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
FOREIGN_SIGNS = re.compile(r"[^\w\s\x00-\x7f]")
TASKS = {"[ ] ": "\u2610 ", "[x] ": "\u2611 ", "[X] ": "\u2611 "}
# Mathematics as pandoc knows it: no blank inside of the dollars, no digit behind them.
MATHS = re.compile(r"\$\$[^$]{1,2000}?\$\$|\$(?=\S)[^$\n]{0,500}?(?<=[^\s\\])\$(?!\d)")

# What neither a page nor a file of HTML can carry; a terminal's colours begin with one.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

# The classes of coloured code, by the beginning of the name of a token of pygments.
KINDS = {
    "Comment": "c",
    "Keyword": "k",
    "Literal.String": "s",
    "Literal.Number": "n",
    "Name.Builtin": "b",
    "Name.Class": "f",
    "Name.Decorator": "b",
    "Name.Function": "f",
    "Name.Tag": "k",
    "Operator.Word": "k",
    "Generic.Inserted": "i",
    "Generic.Deleted": "d",
}


def markdown_to_html(text: str, *, maths: bool = False) -> str:
    """
    The HTML of a Markdown *text*, for an element of a page that is not a paragraph.

    Its elements have no styles but the alignment of a table's columns; code has the
    class ``language-NAME``, and its parts those of ``claude_sync/render/chat.css``. Never
    raises for a string.

    Args:
        text: What a model, or anybody, wrote.
        maths: Whether the page typesets what stands between dollars, as notebooks do. Then
            dollars that begin no formula, such as those of prices, are kept from it.

    """
    tokens = markdown_tokens(text, maths=maths)
    if tokens is None:
        return as_typed(clean(text))
    parser = markdown_parser()
    found: str = parser.renderer.render(tokens, parser.options, {"maths": maths})
    return found.rstrip("\n")


def markdown_tokens(text: str, *, maths: bool = False) -> list[Any] | None:
    """
    The tokens of a Markdown *text*, for other renderers: what leads nowhere safe is no link.

    None for what is to be shown as it was typed, and without markdown-it-py.
    """
    parser = markdown_parser()
    text = clean(text)
    if parser is None or len(text) > LONGEST or TOO_DEEP.search(text):
        return None
    tokens: list[Any] = parser.parse(text, {"maths": maths})
    return None if any(token.level >= DEEPEST - 2 for token in tokens) else tokens


def clean(text: str) -> str:
    """*text* with line ends of one kind, and nothing in it that no page can carry."""
    return UNFIT.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def escape(text: str) -> str:
    """*text* for HTML, in an element or in a quoted attribute: it shows as it is."""
    return html.escape(UNFIT.sub("\ufffd", text), quote=True)


def safe_link(address: str) -> str | None:
    """
    *address* for an ``href``, escaped; None for what nobody should follow.

    Only http, https and mailto are links. The check is made on what the browser
    will read: without entities, and nothing in it that a browser would skip.
    """
    address = html.unescape(address.strip())
    if len(address) > LONGEST_LINK or LINKABLE.match(address) is None:
        return None
    return escape(address)


def as_typed(text: str) -> str:
    """A text as it is, line by line."""
    return f'<pre class="typed">{escape(text)}</pre>' if text.strip() else ""


@functools.cache
def markdown_parser() -> Any:
    """The parser with its renderer; None where markdown-it-py is not installed."""
    try:
        module = importlib.import_module("markdown_it")
    except ImportError:
        logger.warning(
            "Markdown is shown as it is written. To see it formatted: "
            "pip install markdown-it-py pygments"
        )
        return None
    parser = module.MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.enable(["table", "strikethrough"]).disable("reference")
    # Addresses are judged when they are written, by safe_link().
    parser.validateLink = lambda address: True  # noqa: ARG005
    parser.normalizeLink = parser.normalizeLinkText = lambda address: address
    parser.inline.ruler.before("escape", "maths", read_maths)
    parser.inline.ruler.at("emphasis", read_emphasis)
    parser.core.ruler.before("inline", "tasks", mark_tasks)
    parser.core.ruler.before("inline", "limits", keep_limits)
    parser.core.ruler.push("links", make_links)
    rules = parser.renderer.rules
    rules["text"] = write_text
    rules["code_inline"] = lambda tokens, place, *_: f"<code>{written(tokens[place])}</code>"
    rules["maths"] = lambda tokens, place, *_: written(tokens[place])
    rules["hardbreak"] = lambda *_: "<br>\n"
    rules["hr"] = lambda *_: "<hr>\n"
    rules["fence"] = rules["code_block"] = write_code
    rules["typed"] = rules["text"]
    for name in ("s_open", "s_close"):
        rules[name] = lambda tokens, place, *_: "<del>" if tokens[place].nesting == 1 else "</del>"
    return parser


# What the parser calls.


def read_maths(state: Any, silent: bool) -> bool:
    """A formula: nothing in it is Markdown."""
    if state.src[state.pos] != "$":
        return False
    found = MATHS.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("maths", "", 0).content = found.group()
    state.pos = found.end()
    return True


def read_emphasis(state: Any, silent: bool) -> bool:
    """
    Stars and underscores. Only signs of ASCII count as punctuation beside them: in scripts
    without blanks a full stop may stand between the bold word and the next one.
    """
    tokenize = importlib.import_module("markdown_it.rules_inline.emphasis").tokenize
    text, state.src = state.src, with_letters(state.src)
    try:
        return bool(tokenize(state, silent))
    finally:
        state.src = text


@functools.lru_cache(maxsize=2)
def with_letters(text: str) -> str:
    """A text with letters in place of punctuation that is not of ASCII."""
    return FOREIGN_SIGNS.sub("x", text)


def mark_tasks(state: Any) -> None:
    """Boxes for the items of a list of tasks."""
    for before, token in zip(state.tokens, state.tokens[2:]):
        if before.type == "list_item_open" and token.type == "inline":
            box = TASKS.get(token.content[:4])
            if box is not None:
                token.content = box + token.content[4:]


def keep_limits(state: Any) -> None:
    """Paragraphs that would take too long to read are text."""
    for token in state.tokens:
        too_long = len(token.content) > LONGEST_PARAGRAPH
        if token.type == "inline" and (too_long or token.content.count("[") > MOST_BRACKETS):
            token.type = "typed"


def make_links(state: Any) -> None:
    """Links and images: those that are safe as links, the others as text."""
    in_table = False
    for token in state.tokens:
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        if token.type == "inline":
            kind: Any = type(token)
            new = functools.partial(kind, tag="", nesting=0)
            token.children = list(linked(token.children or [], new))
            if in_table:
                token.children = list(broken(token.children, new))


def linked(tokens: Sequence[Any], new: Any) -> Iterator[Any]:
    """The tokens of a paragraph, its addresses judged. Links do not hold links."""
    address: str | None = None
    shown = ""
    for token in tokens:
        if token.type == "link_open":
            address, shown = str(token.attrs["href"]), ""
            yield from opened(address, new)
        elif token.type == "link_close" and address is not None:
            yield from closed(address, shown, new)
            address = None
        elif token.type == "image":
            source = str(token.attrs["src"])
            if address is None:
                yield from opened(source, new)
                yield new("text", content=token.content)
                yield from closed(source, token.content, new)
            else:
                yield new("text", content=f"{token.content} ({source})")
            shown += token.content
        elif token.type == "text" and address is None:
            yield from with_bare_links(token.content, new)
        else:
            shown += token.content
            yield token


def opened(address: str, new: Any) -> Iterator[Any]:
    """The beginning of a link."""
    if safe_link(address) is not None:
        attributes = {"href": html.unescape(address.strip())}
        attributes.update(target="_blank", rel="noopener noreferrer")
        yield new("link_open", tag="a", nesting=1, attrs=attributes)


def closed(address: str, shown: str, new: Any) -> Iterator[Any]:
    """The end of it; of what is no link, the address, if the text does not have it."""
    if safe_link(address) is not None:
        if not shown.strip():
            yield new("text", content=address)
        yield new("link_close", tag="a", nesting=-1)
    elif not shown.strip():
        yield new("text", content=address)
    elif shown != address:
        yield new("text", content=f" ({address})")


def with_bare_links(text: str, new: Any) -> Iterator[Any]:
    """A text whose addresses are links."""
    place = 0
    for found in BARE_LINK.finditer(text):
        address = without_punctuation(found.group())
        if safe_link(address) is None:
            continue
        yield new("text", content=text[place : found.start()])
        yield from opened(address, new)
        yield new("text", content=address)
        yield new("link_close", tag="a", nesting=-1)
        place = found.start() + len(address)
    yield new("text", content=text[place:])


def without_punctuation(address: str) -> str:
    """An address in running text without the signs that end the sentence around it."""
    end = len(address)
    # How many parentheses are closed that the address did not open.
    surplus = address.count(")") - address.count("(")
    while end:
        last = address[end - 1]
        if last == ")" and surplus > 0:
            surplus -= 1
        elif last not in ".,;:!?'*_~":
            break
        end -= 1
    return address[:end]


def broken(tokens: Sequence[Any], new: Any) -> Iterator[Any]:
    """The tokens of a cell, in which ``<br>`` is the only way to break a line."""
    for token in tokens:
        if token.type != "text":
            yield token
            continue
        for number, part in enumerate(LINE_BREAK.split(token.content)):
            if number:
                yield new("hardbreak")
            yield new("text", content=part)


def written(token: Any) -> str:
    """The text of a token."""
    return escape(token.content)


def write_text(tokens: Sequence[Any], place: int, _: Any, env: Any) -> str:
    """A text; where a page typesets what stands between dollars, these are kept from it."""
    text = written(tokens[place])
    return text.replace("$", "<span>$</span>") if env["maths"] else text


def write_code(tokens: Sequence[Any], place: int, *_: Any) -> str:
    """A block of code, with its language as the class that highlighters look for."""
    return f"{code_html(tokens[place].content, tokens[place].info)}\n"


def code_html(code: str, language: str = "") -> str:
    """A block of code, coloured as far as its language is known."""
    found = LANGUAGE.match(language.strip())
    name = found.group() if found else ""
    attribute = f' class="language-{escape(name)}"' if name else ""
    coloured = "".join(
        f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text)
        for kind, text in code_pieces(code, name)
    )
    return f"<pre><code{attribute}>{coloured}</code></pre>"


def code_pieces(code: str, language: str) -> Iterator[tuple[str, str]]:
    """A code in pieces, each with a letter of ``KINDS``; an empty one for what has no colour."""
    lexer = lexer_of(language) if language and len(code) <= LONGEST_CODE else None
    if lexer is None:
        yield "", code
        return
    for kind, text in lexer.get_tokens(code):
        name = str(kind).removeprefix("Token.")
        yield next((letter for start, letter in KINDS.items() if name.startswith(start)), ""), text


@functools.cache
def lexer_of(language: str) -> Any:
    """What splits a code of this language; None if pygments does not know it, or is missing."""
    try:
        lexers = importlib.import_module("pygments.lexers")
        return lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except (ImportError, LookupError, ValueError):
        return None
