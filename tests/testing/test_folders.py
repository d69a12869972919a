"""Folders that are others in every run have a name in a recording."""

import json

import pytest

from claude_sync.testing import builders
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


def pieces_of(records):
    """The texts of the pieces of a stream."""
    deltas = [each["msg"]["event"].get("delta", {}) for each in records if "event" in each["msg"]]
    return [delta["text"] for delta in deltas if delta.get("type") == "text_delta"]


@pytest.mark.parametrize(
    ("pieces", "hidden"),
    [
        (["in ", THEN, "/x"], ["in ", NAME, "/x"]),
        (["in " + THEN[:7], THEN[7:] + "/x"], ["in " + NAME, "/x"]),
        (["in " + THEN[:7], THEN[7:9], THEN[9:] + "/x", "!"], ["in " + NAME, "", "/x", "!"]),
        ([THEN + THEN[:5], THEN[5:]], [NAME + NAME, ""]),
    ],
)
def test_it_may_go_over_several_pieces_of_a_stream(tmp_path, pieces, hidden):
    """Then it is put into the piece in which it begins, and nothing is lost."""
    path = tmp_path / "x.jsonl"
    stream = builders.stream_of(pieces, complete=True)
    records = [{"dir": "out", "run": "a-1", "msg": message} for message in stream]
    path.write_text("".join(json.dumps(each) + "\n" for each in records) + '{"dir": "ou')
    Folders({NAME: THEN}).hide_in(str(path))
    *lines, last = path.read_text().split("\n")
    written = [json.loads(line) for line in lines]
    assert pieces_of(written) == hidden
    assert [each["msg"]["type"] for each in written] == [each["type"] for each in stream]
    assert last == '{"dir": "ou'


def test_blocks_of_several_agents_do_not_mix(tmp_path):
    """Half a folder of one is not completed by another."""
    path = tmp_path / "x.jsonl"
    records = [
        {"dir": "out", "run": "a-1", "msg": builders.text_delta(text, parent=parent)}
        for text, parent in [(THEN[:7], "one"), ("other", "two"), (THEN[7:], "one")]
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    Folders({NAME: THEN}).hide_in(str(path))
    assert pieces_of([json.loads(line) for line in path.read_text().split("\n")]) == [
        *(NAME, "other", "")
    ]
