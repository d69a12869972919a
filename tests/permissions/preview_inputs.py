"""Inputs of tools for the tests of previews, and what holds for every preview."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

from claude_sync.permissions.preview import MAX_CHARACTERS, MAX_LINES

KEYS = [
    *("file_path", "old_string", "new_string", "replace_all", "edits", "content", "notebook_path"),
    *("cell_id", "new_source", "edit_mode", "cell_type", "command", "description", "timeout"),
    *("run_in_background", "questions", "question", "options", "label", "plan", "url", "prompt"),
    *("query", "allowed_domains", "subagent_type"),
]
TEXTS = st.text(max_size=30) | st.sampled_from(["a\nb", "\x1b[2J", "file.txt", "insert", "delete"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
INPUTS = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), JSON, max_size=8)


def check_bounds(text):
    """It is short, and nothing in it can drive a terminal."""
    assert isinstance(text, str)
    assert len(text) <= MAX_CHARACTERS
    assert text.count("\n") < MAX_LINES
    for character in set(text) - {"\n", "\t"}:
        assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    text.encode("utf-8")


def with_ten_lines(folder):
    """*folder*, with a file of ten lines."""
    lines = "".join(f"line {number}\n" for number in range(1, 11))
    (folder / "file.txt").write_bytes(lines.encode())
    return folder
