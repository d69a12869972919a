"""Folders that are others in every run have a name in a recording."""

import json

from claude_sync.testing.folders import Folders

THEN, NOW = "/tmp/pytest-1/test_it0", "/tmp/pytest-2/test_it0"
NAME = "<tmp_path>"


def test_a_folder_is_hidden_and_shown_again():
    """Wherever it is in a message: as a value, in a text, as a key, and in JSON."""
    message = {"a": [f"see {THEN}/x", 1, None], THEN: {"b": THEN}, "partial_json": f'"{THEN}/y"'}
    hidden = Folders({NAME: THEN}).hidden(message)
    assert THEN not in json.dumps(hidden)
    assert hidden[NAME] == {"b": NAME}
    shown = Folders({NAME: NOW}).shown(hidden)
    assert shown == json.loads(json.dumps(message).replace(THEN, NOW))


def test_a_folder_that_only_begins_alike_is_another():
    """/tmp/x1 is not /tmp/x."""
    assert Folders({NAME: THEN}).hidden(THEN + "1/x") == THEN + "1/x"
    assert Folders({NAME: THEN}).hidden(THEN + "-1/x") == NAME + "-1/x"


def test_without_folders_nothing_is_changed(tmp_path):
    """Neither a message nor a file."""
    folders = Folders()
    assert folders.hidden(THEN) == folders.shown(THEN) == THEN
    folders.hide_in(str(tmp_path / "there is none"))


def test_a_backslash_is_written_twice_in_json():
    r"""C:\x is C:\\x there, and JSON it stays."""
    folders = Folders({NAME: "C:\\x y"})
    said = {"input": {"path": "C:\\x y\\a"}, "partial_json": '{"path": "C:\\\\x y\\\\a"}'}
    hidden = folders.hidden(said)
    assert hidden == {"input": {"path": NAME + "\\a"}, "partial_json": f'{{"path": "{NAME}\\\\a"}}'}
    assert folders.shown(hidden) == said


def test_another_way_to_write_it():
    """A recording has shortened homes already."""
    folders = Folders({NAME: "/home/alice/x"}, [(NAME, "~/x")])
    assert folders.hidden("/home/alice/x and ~/x/y") == f"{NAME} and {NAME}/y"
    assert folders.shown(NAME) == "/home/alice/x"
