"""The shapes of messages, how they are compared, and the command around them."""

from __future__ import annotations

import json
import re

import pytest
from cli_scripts import breaks
from executables import executable

from claude_sync.testing import StandIn
from claude_sync.testing.drift import (
    Difference,
    Field,
    __main__,
    choose,
    compare,
    load,
    merge,
    scenes,
    shape_of,
    store,
)
from claude_sync.testing.drift.__main__ import BASELINE, main
from claude_sync.testing.drift.scenes import SCENES, play


def lines_of(shape, kind):
    """The fields of one kind of message, as the baseline has them."""
    return {path: str(field) for path, field in shape[kind].items()}


def result(**fields):
    """The shape of a run with one result."""
    return shape_of([("out", {"type": "result", **fields})])


def told(known, seen):
    """What was found, without the kind, which is the same for all."""
    found = compare(known, seen)
    assert {difference.kind for difference in found} <= {"out result"}
    return [(difference.what, difference.where) for difference in found]


# Shapes.


def test_lists_and_keys_that_are_data_are_folded():
    """Every item of a list counts for one path; names of models, ids and questions for another."""
    shape = result(
        content=[{"text": "a"}, {"text": None}, 3],
        modelUsage={"opus": {"cost": 1.5}, "haiku": {"cost": 2}},
        byTool={"toolu_0001": True, "What now?": "x"},
    )
    assert lines_of(shape, "out result") == {
        "(message)": "object",
        "type": "=result",
        "content": "array",
        "content[]": "number|object",
        "content[].text": "null|string",
        "modelUsage": "object",
        "modelUsage.*": "object",
        "modelUsage.*.cost": "number",
        "byTool": "object",
        "byTool.*": "boolean|string",
    }


def test_words_of_closed_vocabularies_are_kept_and_no_other_text():
    """A status is a word, what is said is not; neither is a sentence where a word should be."""
    shape = result(status="done", is_error=False, error="It went wrong.", text="done")
    assert lines_of(shape, "out result") == {
        "(message)": "object",
        "type": "=result",
        "status": "=done",
        "is_error": "=false",
        "error": "string",
        "text": "string",
    }


def test_kinds_tell_what_a_message_is_about():
    """Events by their type, requests by their subtype, replies by what was asked."""
    hook = {"subtype": "hook_callback", "input": {"hook_event_name": "Stop"}}
    tool = {"subtype": "mcp_message", "message": {"method": "tools/call"}}
    shape = shape_of(
        [
            ("out", {"type": "stream_event", "event": {"type": "ping"}}),
            ("out", {"type": "system", "subtype": "init"}),
            ("out", {"type": "result", "subtype": "success"}),
            (
                "in",
                {"type": "control_request", "request_id": "1", "request": {"subtype": "rename"}},
            ),
            ("out", {"type": "control_response", "response": {"request_id": "1"}}),
            ("out", {"type": "control_request", "request_id": "2", "request": hook}),
            ("in", {"type": "control_response", "response": {"request_id": "2"}}),
            ("out", {"type": "control_request", "request_id": "3", "request": tool}),
            ("out", {"type": "control_response", "response": {"request_id": "9"}}),
            ("out", {"type": "control_response", "response": None}),
            ("out", {}),
        ]
    )
    assert set(shape) == {
        "out stream_event ping",
        "out system init",
        "out result",
        "in control_request rename",
        "out control_response rename",
        "out control_request hook_callback Stop",
        "in control_response hook_callback Stop",
        "out control_request mcp_message tools/call",
        "out control_response (nobody asked)",
        "out None",
    }


def test_what_is_not_in_every_run_is_optional():
    """Fields, words, types and whole messages; and it stays so."""
    first = result(subtype="success", cost=1, usage=None, text="a")
    second = result(subtype="error", usage={"n": 1}, text="b", extra=True)
    extra = shape_of([("out", {"type": "late"})])
    known = merge(merge(merge(None, first), {**second, **extra}), first)
    assert lines_of(known, "out result") == {
        "(message)": "object",
        "type": "=result",
        "subtype": "?=error|?=success",
        "cost": "? number",
        "usage": "?null|?object",
        "usage.n": "? number",
        "text": "string",
        "extra": "? boolean",
    }
    assert lines_of(known, "out late") == {"(message)": "? object", "type": "? =late"}
    for run in (first, second, {**first, **extra}):
        assert compare(known, run) == []


@pytest.mark.parametrize("line", ["string", "? null|string", "=success|?=error", "? ?=a|number"])
def test_fields_are_read_as_they_are_written(line):
    """A line of the baseline is a field, and back."""
    assert sorted(str(Field.parse(line)).split("|")) == sorted(line.split("|"))


# The comparison.


def test_fields_that_are_new_or_gone():
    """Each is told, but not what is inside it; one whose name only begins alike is another."""
    known = result(usage={"n": 1, "parts": [{"m": 1}]}, usage_total=1)
    assert told(known, result(usage_total=1)) == [("gone", "usage")]
    assert told(result(usage_total=1), known) == [("new", "usage")]
    assert told(known, result(usage={"n": 1, "parts": []}, usage_total=1)) == [
        ("gone", "usage.parts[]")
    ]
    assert told(known, result(usage={"n": 1, "parts": [{"m": 1}]})) == [("gone", "usage_total")]


def test_types_that_changed():
    """Another type, one more, one less."""
    known = merge(result(a="x", b=1, c=[1, None]), result(a="x", b=1, c=[1, None]))
    assert told(known, result(a={"x": 1}, b=None, c=[1])) == [
        ("changed", "a (string -> object)"),
        ("new", "a.x"),
        ("changed", "b (number -> null)"),
        ("changed", "c[] (null|number -> number)"),
    ]


def test_words_that_are_new_or_gone():
    """In a closed vocabulary, a word is as good as a field."""
    known = merge(result(subtype="success", state="idle"), result(subtype="success", state="busy"))
    assert told(known, result(subtype="success", state="idle")) == []
    assert told(known, result(subtype="refused", state="asleep")) == [
        ("new value", "state asleep"),
        ("new value", "subtype refused"),
        ("gone value", "subtype success"),
    ]
    assert told(known, result(subtype="A whole sentence now.", state="busy")) == [
        ("gone value", "subtype success")
    ]


def test_messages_that_are_new_or_gone():
    """Told as a whole, without their fields."""
    known, seen = result(a=1), shape_of([("out", {"type": "news", "a": {"b": 1}})])
    assert compare(known, seen) == [
        Difference("out news", "new", "(message)"),
        Difference("out result", "gone", "(message)"),
    ]


# The baseline.


@pytest.mark.parametrize(
    ("version", "chosen"),
    [
        *[("2.1.29", "2.1.29"), ("2.1.100", "2.1.29"), ("2.1.326", "2.1.326")],
        *[("3.0.0", "2.1.326"), ("2.1.28", None), ("", None)],
    ],
)
def test_the_version_to_compare_with(version, chosen):
    """The same, else the newest before it: numbers, not texts."""
    assert choose(["2.1.326", "2.1.29"], version) == chosen


def test_what_is_stored_is_loaded(tmp_path):
    """Nothing is lost, though each scene has only what is special about it."""
    usual = {**result(a=1, b="x"), **shape_of([("in", {"type": "user"})])}
    shapes = {"one": usual, "two": usual, "odd": result(a=None, c=None), "late": merge({}, usual)}
    path = tmp_path / "baseline.json"
    store(path, {"2.0.0": shapes, "1.0.0": {"one": usual}})
    assert load(path) == {"2.0.0": shapes, "1.0.0": {"one": usual}}
    stored = json.loads(path.read_text())
    assert list(stored) == sorted(stored)
    assert stored["2.0.0"]["one"] == stored["2.0.0"]["two"] == {"in user": {}, "out result": {}}
    assert stored["2.0.0"]["odd"]["out result"] == {"a": "null", "b": "-", "c": "null"}


def test_the_packaged_baseline_has_every_scene_and_no_secrets():
    """Names of fields and words of vocabularies: no path, no host, no id, no name of a user."""
    baseline = load(BASELINE)
    assert {"2.1.29", "2.1.326"} <= set(baseline)
    for shapes in baseline.values():
        assert set(shapes) == set(SCENES)
    stored = BASELINE.read_text(encoding="utf-8")
    assert not re.findall(r"[~\\@]|//|\d{4}|\b(?:tmp|home|root|user)/", stored)
    words = {word for line in re.findall(r'": "(.*)"', stored) for word in line.split("=")}
    assert not [word for word in words if word.startswith("/")]


# The command.


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    """A baseline that does not exist yet."""
    path = tmp_path / "baseline.json"
    monkeypatch.setattr(__main__, "BASELINE", path)
    return path


def run(capsys, *words):
    """Run the command; its exit code, what it printed, and what on stderr."""
    code = main(words)
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err


def test_a_release_is_recorded_and_compared(baseline, tmp_path, capsys):
    """A first one is recorded; it has no drift; a later one that says something else has."""
    path = executable(tmp_path, version="2.5.0")
    code, printed, _ = run(capsys, "--update", "--cli", path, "answer")
    assert (code, printed[-1]) == (0, "1 scene: no drift")
    assert list(load(baseline)) == ["2.5.0"]
    assert run(capsys, "--cli", path, "answer")[:2] == (
        0,
        ["claude 2.5.0 against 2.5.0", "1 scene: no drift"],
    )
    doctored = load(baseline)
    fields = doctored["2.5.0"]["answer"]["out result"]
    fields["terminal_cause"] = Field.parse("string")
    fields["uuid"] = Field.parse("number")
    fields["subtype"] = Field.parse("=fine")
    fields["sometimes"] = Field.parse("? string")
    del fields["session_id"]
    doctored["2.5.0"]["answer"]["out thunder"] = fields
    store(baseline, doctored)
    code, printed, _ = run(capsys, "--cli", executable(tmp_path, version="2.6.0"), "answer")
    assert code == 1
    assert printed[0] == "claude 2.6.0 against 2.5.0"
    assert [line.split(None, 3) for line in printed[1:-1]] == [
        ["answer", "out", "result", "new         session_id"],
        ["answer", "out", "result", "gone value  subtype fine"],
        ["answer", "out", "result", "new value   subtype success"],
        ["answer", "out", "result", "gone        terminal_cause"],
        ["answer", "out", "result", "changed     uuid (number -> string)"],
        ["answer", "out", "thunder", "gone        (message)"],
    ]
    assert printed[-1] == "1 scene: 1 changed, 2 gone, 1 gone value, 1 new, 1 new value"


def test_a_scene_that_fails_is_drift(baseline, capsys, monkeypatch, tmp_path):
    """It is told with its reason, and the others are compared."""

    def fails(stage):
        stage.client()
        raise LookupError("there is\nno such thing")

    path = executable(tmp_path, version="2.5.0")
    assert run(capsys, "--update", "--cli", path, "answer")[0] == 0
    recorded = baseline.read_text()
    monkeypatch.setitem(SCENES, "fails", fails)
    expected = (1, ["fails  LookupError  failed  there is no such thing", "2 scenes: 1 failed"])
    code, printed, _ = run(capsys, "--cli", path, "fails", "answer")
    assert (code, printed[1:]) == expected
    # Nothing of it is recorded.
    code, printed, _ = run(capsys, "--update", "--cli", path, "fails")
    assert (code, printed[1:]) == (1, [expected[1][0], "1 scene: 1 failed"])
    assert baseline.read_text() == recorded


def test_a_scene_has_an_end(monkeypatch):
    """One that hangs is ended, and what it waits for with it."""
    monkeypatch.setattr(scenes, "SCENE_TIMEOUT", 0.5)
    with pytest.raises(TimeoutError, match=r"longer than 0\.5 s"):
        play(SCENES["answer"], StandIn(never_answers).command)


def never_answers(cli):
    """Let the client wait."""
    cli.swallow_input()


def test_it_cannot_run_without_a_cli(capsys, tmp_path):
    """Nothing there, nothing that starts: exit code 2, and a sentence."""
    missing = str(tmp_path / "nowhere" / "claude")
    code, printed, said = run(capsys, "--cli", missing)
    assert (code, printed) == (2, [])
    assert missing in said
    code, printed, said = run(capsys, "--cli", executable(tmp_path, breaks))
    assert (code, printed) == (2, [])
    assert "exit code 7" in said
    assert "verysecret" not in said
