"""Private keys in texts: from their first line to their last, whatever is between."""

from __future__ import annotations

import json

import pytest

from claude_sync.support.redact import begins_private_key, hide_private_keys

# Nobody's, and no keys.
BODY = "MII" + "Ab3+" * 15
LINES = ["-----BEGIN RSA PRIVATE KEY-----", BODY, BODY, "-----END RSA PRIVATE KEY-----"]


def hidden(text):
    """*text* as it is shown."""
    return hide_private_keys(text, lambda secret: "***")


@pytest.mark.parametrize(
    "between",
    [
        "\n",
        "\r\n",
        "\\n",
        "\n     2\u2192",
        "\n> ",
        '\\n"\n    "',
        '\\n" +\n    "',
        "', '",
        "\nmy_key.pem:",
        "\nVersion: GnuPG v2.0.22 (GNU/Linux)\n\n",
        "\n\x1b[31m",
        "<br>\n",
    ],
)
def test_whatever_stands_between_its_lines(between):
    """Line numbers, quotes, names of files, remarks: all of it is hidden."""
    assert hidden(f"a {between.join(LINES)} b") == "a *** b"


@pytest.mark.parametrize("kind", ["", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "])
def test_each_kind_of_key(kind):
    """However it is called."""
    block = " BLOCK" if kind == "PGP " else ""
    begin, end = (f"-----{word} {kind}PRIVATE KEY{block}-----" for word in ("BEGIN", "END"))
    assert hidden(f"{begin}\n{BODY}\n{end}.") == "***."


@pytest.mark.parametrize("between", ["\n", "\n     2\u2192", '\\n"\n    "', '", "', "\n> "])
def test_a_key_without_an_end(between):
    """A text that was cut shows nothing of it, up to the end of the text."""
    assert hidden("a " + between.join(LINES[:3])) == "a ***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (json.dumps({"a": LINES[0] + "\n" + BODY, "b": "c"}), '{"a": "***", "b": "c"}'),
        (f'if text.startswith("{LINES[0]}"):\n    pass', 'if text.startswith("***"):\n    pass'),
        (json.dumps([json.dumps([LINES[0]]), "b"]), '["[\\"***\\"]", "b"]'),
    ],
)
def test_a_key_without_an_end_ends_with_its_string(text, shown):
    """What was JSON stays JSON, and a program stays readable."""
    assert hidden(text) == shown


def test_a_key_without_an_end_does_not_hide_everything():
    """A remark about keys hides so much and no more."""
    shown = hidden(LINES[0] + "\n" + "x " * 100_000)
    assert 100_000 < len(shown) < 200_000


def test_several_keys():
    """Each is hidden for itself; a certificate is none."""
    key = "\n".join(LINES)
    other = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"
    assert hidden(f"{key}\n{other}\n{key}\nend") == f"***\n{other}\n***\nend"
    assert hidden(f"{key} a {LINES[0]} {LINES[0]} {BODY}") == "*** a ***"


def test_where_a_key_begins_that_goes_on():
    """The last one counts: one that ends in the same text does not go on."""
    key = "\n".join(LINES)
    assert begins_private_key(LINES[0])
    assert begins_private_key(f"{key} {LINES[0]}")
    assert not begins_private_key(key)
    assert not begins_private_key("-----BEGIN CERTIFICATE-----")
    assert not begins_private_key("")
