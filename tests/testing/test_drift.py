"""What is known about messages, how a run is compared with it, and the command around them."""

from __future__ import annotations

import re

import pytest
from cli_scripts import breaks
from executables import executable

from claude_sync.testing import StandIn
from claude_sync.testing.drift import (
    Difference,
    Fact,
    __main__,
    choose,
    compare,
    facts_of,
    load,
    merge,
    scenes,
    store,
)
from claude_sync.testing.drift.__main__ import BASELINE, main
from claude_sync.testing.drift.scenes import SCENES, play


def result(**fields):
    """What there is to know about a run with one result."""
    return facts_of([("out", {"type": "result", **fields})])


def known_from(*runs):
    """What is known after these runs."""
    known = None
    for run in runs:
        known = merge(known, run)
    return known


def found(known, seen):
    """What was found, without the kind, which is the same for all."""
    differences = compare(known, seen)
    assert {difference.kind for difference in differences} <= {"out result"}
    return [(difference.what, difference.where) for difference in differences]


def forms(facts):
    """The paths with their forms; that they are there is left out."""
    return {f"{fact.path} {fact.form}" for fact in facts if fact.form}


def test_lists_and_keys_that_are_data_are_folded():
    """Every item of a list counts for one path; names of models, ids and questions for another."""
    facts = result(
        content=[{"text": "a"}, {"text": None}, 3],
        modelUsage={"opus": {"cost": 1.5}, "haiku": {"cost": 2}},
        byTool={"toolu_0001": True, "What now?": "x"},
    )
    assert forms(facts) == {
        *(" object", "type string", "type =result"),
        *("content array", "content[] object", "content[] number"),
        *("content[].text string", "content[].text null"),
        *("modelUsage object", "modelUsage.* object", "modelUsage.*.cost number"),
        *("byTool object", "byTool.* boolean", "byTool.* string"),
    }


def test_words_of_closed_vocabularies_are_kept_and_no_other_text():
    """A status is a word, what is said is not; neither is a sentence where a word should be."""
    facts = result(status="done", is_error=False, error="It went wrong.", text="done")
    assert {form for form in forms(facts) if "=" in form} == {
        *("type =result", "status =done", "is_error =false"),
    }


def test_kinds_tell_what_a_message_is_about():
    """Events by their type, requests by their subtype, replies by what was asked."""
    hook = {"subtype": "hook_callback", "input": {"hook_event_name": "Stop"}}
    tool = {"subtype": "mcp_message", "message": {"method": "tools/call"}}
    rename = {"subtype": "rename"}
    facts = facts_of(
        [
            ("out", {"type": "stream_event", "event": {"type": "ping"}}),
            ("out", {"type": "system", "subtype": "init"}),
            ("out", {"type": "result", "subtype": "success"}),
            ("in", {"type": "control_request", "request_id": "1", "request": rename}),
            ("out", {"type": "control_response", "response": {"request_id": "1"}}),
            ("out", {"type": "control_request", "request_id": "2", "request": hook}),
            ("in", {"type": "control_response", "response": {"request_id": "2"}}),
            ("out", {"type": "control_request", "request_id": "3", "request": tool}),
            ("out", {"type": "control_response", "response": None}),
            ("out", {}),
        ]
    )
    assert {fact.kind for fact in facts} == {
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
    first = result(subtype="success", cost=1, usage=None)
    second = result(subtype="error", usage={"n": 1}, extra=True) | facts_of([("out", {"a": 1})])
    known = known_from(first, second, first)
    for run in (first, second, first | second):
        assert compare(known, run) == []
    assert found(known, result()) == [("gone", "subtype"), ("gone", "usage")]


def test_fields_that_are_new_or_gone():
    """Each is told, but not what is inside it; one whose name only begins alike is another."""
    whole = result(usage={"n": 1, "parts": [{"m": 1}]}, usage_total=1)
    assert found(known_from(whole), result(usage_total=1)) == [("gone", "usage")]
    assert found(known_from(result(usage_total=1)), whole) == [("new", "usage")]
    emptied = result(usage={"n": 1, "parts": []}, usage_total=1)
    assert found(known_from(whole), emptied) == [("gone", "usage.parts[]")]
    shorter = result(usage={"n": 1, "parts": [{"m": 1}]})
    assert found(known_from(whole), shorter) == [("gone", "usage_total")]


def test_types_and_words_that_are_new_or_gone():
    """Another type, one more, one less; in a closed vocabulary, a word is as good as a field."""
    known = known_from(result(a="x", c=[1, None], subtype="success"))
    assert found(known, result(a={"x": 1}, c=[1], subtype="refused")) == [
        ("gone", "a string"),
        ("gone", "c[] null"),
        ("gone", "subtype success"),
        ("new", "a object"),
        ("new", "a.x"),
        ("new", "subtype refused"),
    ]


def test_messages_that_are_new_or_gone():
    """Told as a whole, without their fields."""
    news = facts_of([("out", {"type": "news", "a": {"b": 1}})])
    assert compare(known_from(result(a=1)), news) == [
        Difference("out news", "new", "(message)"),
        Difference("out result", "gone", "(message)"),
    ]


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
    """What is always there, sometimes or never, scene by scene."""
    shapes = {"one": known_from(result(a=1), result(b="x")), "two": known_from(result(a=None))}
    path = tmp_path / "baseline.json"
    store(path, {"2.0.0": shapes, "1.0.0": {"one": shapes["two"]}})
    assert load(path) == {"2.0.0": shapes, "1.0.0": {"one": shapes["two"]}}


def test_the_packaged_baseline_has_every_scene_and_no_secrets():
    """Names of fields and words of vocabularies: no path, no host, no id, no name of a user."""
    baseline = load(BASELINE)
    assert {"2.1.29", "2.1.326"} <= set(baseline)
    for known in baseline.values():
        assert set(known) == set(SCENES)
    stored = BASELINE.read_text(encoding="utf-8")
    assert not re.findall(r"[~\\@]|//|\d{4}|\b(?:tmp|home|root|user)/| =/", stored)


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
    return code, [" ".join(line.split()) for line in printed.out.splitlines()], printed.err


def test_a_release_is_recorded_and_compared(baseline, tmp_path, capsys):
    """A first one is recorded; it has no drift; a later one that says something else has."""
    path = executable(tmp_path, version="2.5.0")
    code, printed, _ = run(capsys, "--update", "--cli", path, "answer")
    assert (code, printed[-1]) == (0, "1 scene: no drift")
    assert run(capsys, "--cli", path, "answer")[:2] == (
        0,
        ["claude 2.5.0 against 2.5.0", "1 scene: no drift"],
    )
    doctored = load(baseline)
    assert list(doctored) == ["2.5.0"]
    facts = doctored["2.5.0"]["answer"]
    del facts[Fact("out result", "subtype", "=success")]
    facts[Fact("out result", "subtype", "=fine")] = True
    facts[Fact("out result", "sometimes", "")] = False
    facts[Fact("out thunder", "", "")] = True
    store(baseline, doctored)
    later = executable(tmp_path, version="2.6.0")
    code, printed, _ = run(capsys, "--cli", later, "answer")
    assert (code, printed) == (
        1,
        [
            "claude 2.6.0 against 2.5.0",
            "answer out result gone subtype fine",
            "answer out result new subtype success",
            "answer out thunder gone (message)",
            "1 scene: 2 gone, 1 new",
        ],
    )


def test_a_scene_that_fails_is_drift(baseline, capsys, monkeypatch, tmp_path):
    """It is told with its reason, and the others are compared; nothing is recorded."""

    def fails(stage):
        stage.client()
        raise LookupError("there is\nno such thing")

    path = executable(tmp_path, version="2.5.0")
    assert run(capsys, "--update", "--cli", path, "answer")[0] == 0
    recorded = baseline.read_text()
    monkeypatch.setitem(SCENES, "fails", fails)
    expected = ["fails LookupError failed there is no such thing", "2 scenes: 1 failed"]
    for words in ((), ("--update",)):
        code, printed, _ = run(capsys, *words, "--cli", path, "fails", "answer")
        assert (code, printed[1:]) == (1, expected)
        assert baseline.read_text() == recorded


def test_a_scene_has_an_end(monkeypatch):
    """One that hangs is ended, and what it waits for with it."""
    monkeypatch.setattr(scenes, "PATIENCE", 0.5)
    with pytest.raises(TimeoutError):
        play(SCENES["answer"], StandIn(never_answers).command)


def never_answers(cli):
    """Let the client wait."""
    cli.swallow_input()


def test_it_cannot_run_without_a_cli(capsys, tmp_path):
    """Nothing there, nothing that starts: exit code 2, and a sentence."""
    missing = str(tmp_path / "nowhere" / "claude")
    code, printed, said = run(capsys, "--cli", missing, "answer")
    assert (code, printed) == (2, [])
    assert missing in said
    code, printed, said = run(capsys, "--cli", executable(tmp_path, breaks), "answer")
    assert (code, printed) == (2, [])
    assert "exit code 7" in said
    assert "verysecret" not in said
