"""Every secret of a known form, and every place where one stands, is hidden: the examples."""

from __future__ import annotations

import re
import uuid
from importlib.resources import files

from tables import each

from claude_sync.support.redact import redact_text

TEXT = files("claude_sync.support").joinpath("redact_patterns.txt").read_text(encoding="utf-8")
ROWS = [row.split("\t") for row in TEXT.splitlines() if row.count("\t") == 2]
FORMS = [row for row in ROWS if "(?P<secret>" not in row[1]]
PLACES = [row for row in ROWS if "hunter2" in row[2]]
# What the letters in an example stand for; made here, so that no scanner takes it for real.
ALPHABETS = {
    "": "Ab3dE5gH7jK9mN2pQ4sT6vW8yZ1",
    "h": "0a1b2c3d4e5f6789",
    "A": "AB3DE5GH7JK9",
    "d": "1234567890",
    "a": "AbCdEfGhIj",
}


def made(example):
    """An example with letters for its placeholders."""

    def letters(found):
        alphabet = ALPHABETS[found[2]]
        return (alphabet * 20)[: int(found[1])]

    text = re.sub(r"\{(\d+)([hAda]?)\}", letters, example)
    return text.replace("{u}", str(uuid.UUID(int=0x12345678123440008000123456789ABC)))


@each("row", FORMS)
def test_a_secret_is_known_by_its_form(row):
    """Alone, in a sentence, in JSON, after an escaped line end, and not inside a word."""
    words, _, example = row
    secret = made(example)
    assert any(word in secret.lower() for word in words.split())
    tail = secret.rstrip("=")[-12:]
    for around in ("{}", "the key {} is wrong", '{{"a": "{}"}}', "a\\n{}\\nb", "x={}", "({})"):
        shown = redact_text(around.format(secret))
        assert tail not in shown
        assert "***" in shown


@each("row", PLACES)
def test_a_secret_is_known_by_its_place(row):
    """Where programs, files and addresses have them: alone, and in the middle of a line."""
    words, _, example = row
    assert any(word in example.lower() for word in words.split())
    for line in (example, f"before {example}\nafter"):
        shown = redact_text(line)
        assert "hunter2" not in shown
        assert "***" in shown


@each(
    "line",
    [
        *("docker run -p 8080:80 image", "mysql -u root db", "http://localhost:8080/a/b@c"),
        *("ssh -p 22 host", "git@github.com:a/b.git", "https://example.com/a?page=2&sig=x"),
        *("10:20:30:40:50", "login page password reset", "the session ended", "api-version: 2"),
        *("test_a_function_with_a_very_long_name_of_its_own", "s.rstrip().split()", "sk-learn"),
        *("pat.match(line)", "re_compiled_pattern", "key-value store"),
        "desk-abcdefghijklmnopqrstuvwxyz",
        str(uuid.UUID(int=0x12345678123440008000123456789ABC)),
    ],
)
def test_what_is_no_secret_stays(line):
    """Ports, names, words and uuids."""
    assert redact_text(line) == line
