"""What is told about a saved conversation: titles, prompts, times, and damage."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pickle
from datetime import datetime, timezone

import pytest
from saved_sessions import START, Saved, conversation
from tables import each

from claude_sync import SessionInfo, session_info
from claude_sync.session_info import Listing, prompt_of


@pytest.fixture
def config(tmp_path):
    """A CLI's folder."""
    return tmp_path / "config"


def info_of(saved):
    """What the listing of its folder says about a conversation."""
    (found,) = [i for i in Listing(saved.folder).infos() if i.session_id == saved.session_id]
    return found


def is_listed(saved, **settings):
    """Whether the listing of its folder has it."""
    infos = Listing(saved.folder, **settings).infos()
    return saved.session_id in [info.session_id for info in infos]


def test_everything_about_a_conversation(config):
    """Each attribute, from a file as CLIs write it."""
    saved = Saved(config)
    saved.note("queue-operation", timestamp="2026-02-28T09:00:00.000Z")
    saved.user("What does\n  setup.py do?")
    saved.says("It installs.")
    saved.save()
    info = info_of(saved)
    assert info == SessionInfo(
        session_id=saved.session_id,
        title="What does setup.py do?",
        first_prompt="What does\n  setup.py do?",
        cwd="/srv/shop",
        created=datetime(2026, 2, 28, 9, tzinfo=timezone.utc),
        modified=datetime.fromtimestamp(START, timezone.utc),
        size=saved.path.stat().st_size,
        path=saved.path,
        git_branch="main",
    )
    assert info.message_count == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.title = "x"
    copy = pickle.loads(pickle.dumps(info))
    assert (copy, copy.message_count) == (info, 2)


def test_a_title_a_person_gave_comes_first(config):
    """The last one counts, before the CLI's own title and the prompt."""
    saved = conversation(config, "the prompt")
    assert info_of(saved).title == "the prompt"
    saved.note("ai-title", aiTitle="made by the CLI")
    assert info_of(saved.save()).title == "made by the CLI"
    saved.note("custom-title", customTitle="first title")
    saved.note("custom-title", customTitle="second title")
    saved.note("ai-title", aiTitle="made later")
    assert info_of(saved.save()).title == "second title"
    assert info_of(saved).first_prompt == "the prompt"


def test_the_copy_of_a_title_counts_where_the_line_is_far_away(config, monkeypatch):
    """A long conversation may have gone on after the title."""
    monkeypatch.setattr(session_info, "ENDING", 100)
    saved = conversation(config, "the prompt")
    saved.note("custom-title", customTitle="far away")
    saved.user("x" * 1000)
    saved.save()
    copy = saved.path.with_suffix("") / "custom-title.json"
    copy.parent.mkdir()
    assert info_of(saved).title == "the prompt"
    copy.write_text(json.dumps({"customTitle": "the copy"}))
    assert info_of(saved).title == "the copy"
    for broken in ("[]", "{", json.dumps({"customTitle": 5})):
        copy.write_text(broken)
        assert info_of(saved).title == "the prompt"


def test_a_line_of_a_title_counts_before_its_copy(config):
    """As for the CLI itself."""
    saved = conversation(config, "the prompt")
    saved.note("custom-title", customTitle="the line")
    saved.save()
    copy = saved.path.with_suffix("") / "custom-title.json"
    copy.parent.mkdir()
    copy.write_text(json.dumps({"customTitle": "the copy"}))
    assert info_of(saved).title == "the line"


def test_a_summary_belongs_to_the_message_it_names(config):
    """Old CLIs write it into another file, which may hold nothing else."""
    saved, other = conversation(config, "one", "two"), conversation(config, "three")
    stranger = Saved(config)
    stranger.note("summary", summary="About one", leafUuid=saved.lines[1]["uuid"])
    stranger.note("summary", summary="About one and two", leafUuid=saved.last)
    stranger.note("summary", summary="About nobody", leafUuid="gone")
    stranger.note("summary", summary=7, leafUuid=other.last)
    stranger.save()
    assert not is_listed(stranger)
    assert info_of(saved).title == "About one and two"
    assert info_of(other).title == "three"
    saved.note("custom-title", customTitle="given")
    assert info_of(saved.save()).title == "given"


@each(
    ("content", "prompt"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "in a block"}], "in a block"),
        (
            [{"type": "image"}, {"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            "one\ntwo",
        ),
        (
            [
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                {"type": "text", "text": "typed"},
            ],
            "typed",
        ),
        ([{"type": "tool_result", "content": "out"}], ""),
        ([7, None, {"text": 7}], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_what_a_person_typed(content, prompt):
    """Text, in whatever form it is saved; nothing where there is none."""
    assert prompt_of({"role": "user", "content": content}) == prompt


def test_the_first_prompt_is_one_that_somebody_typed(config):
    """Not the CLI's own words, nor tool results, nor a summary; a slash command for want of one."""
    saved = Saved(config)
    saved.user("Caveat: the messages below", isMeta=True)
    saved.user("<command-name>/cost</command-name>\n<command-message>cost</command-message>")
    saved.user("<local-command-stdout>0 USD</local-command-stdout>")
    saved.user("[Request interrupted by user]")
    saved.user("This session is being continued", isCompactSummary=True)
    saved.user("inner", isSidechain=True)
    saved.result("t1")
    saved.says("hello")
    assert info_of(saved.save()).first_prompt == info_of(saved).title == "/cost"
    saved.user("really typed")
    assert info_of(saved.save()).first_prompt == "really typed"


def test_halves_of_letters_are_replaced(config):
    """What was cut in the middle of one can be printed; what is whole stays."""
    saved = conversation(config, "cut \ud83d off, \U0001f600 é")
    info = info_of(saved)
    assert info.title == info.first_prompt == "cut \ufffd off, \U0001f600 é"
    saved.note("custom-title", customTitle="\ude00 title")
    assert info_of(saved.save()).title == "\ufffd title"


def test_long_texts_are_cut(config):
    """A title is one line, and a prompt of megabytes is not kept whole."""
    saved = conversation(config, "word " * 200_000)
    info = info_of(saved)
    assert len(info.title) == 200 and info.title.endswith(" ...")
    assert len(info.first_prompt) == 2000


def test_a_prompt_that_is_too_long_to_look_at(config, monkeypatch):
    """The title is then the last prompt, if the CLI noted it, else the id."""
    monkeypatch.setattr("claude_sync.session_lines.LONGEST_OPENING_LINE", 1000)
    monkeypatch.setattr("claude_sync.session_lines.OPENING", 2000)
    saved = conversation(config, "x" * 10_000)
    info = info_of(saved)
    assert (info.title, info.first_prompt, info.created) == (
        saved.session_id,
        None,
        info.modified,
    )
    saved.note("last-prompt", lastPrompt="and then?")
    assert info_of(saved.save()).title == "and then?"
    assert info_of(saved).first_prompt is None


@pytest.mark.parametrize("kind", ["empty", "notes", "warm-up", "noise", "binary"])
def test_what_holds_no_conversation_is_not_listed(config, kind):
    """Empty files, notes alone, what a CLI said to itself, and no JSON at all."""
    saved = Saved(config)
    if kind == "notes":
        saved.note("queue-operation")
        saved.note("file-history-snapshot")
    if kind == "warm-up":
        saved.user("Warmup", isSidechain=True)
        saved.says("ok", isSidechain=True)
    saved.save(ending={"noise": b"hello\n[]\n", "binary": os.urandom(5000)}.get(kind, b""))
    assert not is_listed(saved)
    saved.user("a prompt")
    assert is_listed(saved.save())


CAVEATS = {
    "old": "Caveat: The messages below were generated by the user while running local commands.",
    "new": "<local-command-caveat>The command below was run directly.</local-command-caveat>",
}


def command(saved, name="/clear", printed="", style="new", arguments=""):
    """A command that a CLI carries out itself, as old and new ones save it."""
    saved.user(CAVEATS[style], isMeta=True)
    saved.user(
        f"<command-name>{name}</command-name>\n            "
        f"<command-message>{name[1:]}</command-message>\n            "
        f"<command-args>{arguments}</command-args>"
    )
    output = f"<local-command-stdout>{printed}</local-command-stdout>"
    if style == "new":
        saved.line("system", subtype="local_command", content=output)
    else:
        saved.user(output)


@pytest.mark.parametrize("style", ["old", "new"])
def test_where_nothing_was_asked_is_listed_only_with_everything(config, style):
    """Commands of the CLI itself; a title does not count, as /clear hands it on."""
    saved = Saved(config)
    saved.note("custom-title", customTitle="handed on")
    saved.note("mode", mode="normal")
    command(saved, style=style)
    command(saved, "/model", "Set model\nto <b>", style, arguments="opus </command-args> x")
    saved.user("<local-command-stderr>Error: no\n</local-command-stderr>")
    saved.note("queue-operation", operation="enqueue", content="/clear")
    saved.note("last-prompt", leafUuid=saved.last)
    saved.save()
    assert not is_listed(saved)
    assert is_listed(saved, everything=True)
    (info,) = Listing(saved.folder, everything=True).infos()
    assert (info.title, info.first_prompt) == ("handed on", "/clear")
    saved.user("a prompt")
    assert is_listed(saved.save())
    assert info_of(saved).first_prompt == "a prompt"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image", "source": {}}],
        [{"type": "tool_result", "tool_use_id": "t", "content": "out"}],
        [{"type": "text", "text": "<command-name>/clear</command-name>"}],
        "<command-message>mine</command-message>\n<command-name>/mine</command-name>",
        "<command-name>/clear</command-name> what does this mean?",
        "<local-command-stdout>x</local-command-stdout> explain",
        "<local-command-stdout>x</local-command-stderr>",
        "Unknown slash command: explain",
        "<bash-input>ls</bash-input>",
        "<system-reminder>x</system-reminder>",
        "[Request interrupted by user]",
        "",
        None,
        7,
    ],
)
def test_any_other_message_counts_as_asked(config, content):
    """Whatever it is, it is not left out: of what somebody typed nothing may be lost."""
    saved = Saved(config)
    command(saved)
    assert not is_listed(saved.save())
    saved.user(content)
    assert is_listed(saved.save())


@pytest.mark.parametrize(
    "kind", ["answer", "prompt of a command", "prompt as text", "summary", "no message"]
)
def test_what_others_say_counts_as_asked(config, kind):
    """An answer, the prompt that a command stands for, a compaction, a message without a text."""
    saved = Saved(config)
    command(saved)
    assert not is_listed(saved.save())
    if kind == "answer":
        saved.says("hello")
    elif kind == "prompt of a command":
        saved.user([{"type": "text", "text": "Say it"}], isMeta=True)
    elif kind == "prompt as text":
        saved.user("Say it", isMeta=True)
    elif kind == "summary":
        saved.user("This session is being continued", isCompactSummary=True)
    else:
        saved.line("user", message=None)
    assert is_listed(saved.save())


@pytest.mark.parametrize(
    "ending", [b'{"type":"user","message":{"content":"cut o', b"\0\0\n", b"[]\n"]
)
def test_what_cannot_be_read_counts_as_asked(config, ending):
    """It may have been a question; empty lines are none."""
    saved = Saved(config)
    command(saved)
    assert not is_listed(saved.save(ending=b"\n \n"))
    assert is_listed(saved.save(ending=ending))


def test_what_is_too_long_to_look_through_is_listed(config, monkeypatch):
    """Nobody knows what comes after the beginning."""
    saved = Saved(config)
    command(saved)
    assert not is_listed(saved.save())
    monkeypatch.setattr("claude_sync.session_lines.OPENING", 10)
    assert is_listed(saved)


def test_a_damaged_file_is_listed_as_far_as_it_goes(config):
    """Broken lines, fields of other types and a line cut off do no harm."""
    saved = Saved(config)
    saved.lines.append(["no", "object"])
    saved.line("user", message=7, cwd=7, timestamp=7, gitBranch=["x"])
    saved.note("summary", leafUuid=None)
    saved.user("typed", gitBranch="HEAD")
    saved.save(ending=b'\0\0\0\n{"type":"custom-title","customTitle":"cut o')
    info = info_of(saved)
    assert (info.title, info.cwd, info.git_branch) == ("typed", "/srv/shop", None)


def test_a_copy_made_elsewhere_belongs_where_it_is(config):
    """Its first lines are those of the original, which was held in another folder."""
    saved = Saved(config, cwd='/srv/sh"op')
    saved.user("one", cwd="/first/place")
    saved.user("two", cwd="/second/place")
    saved.user("three")
    saved.user("four", cwd="/a/deeper/folder")
    assert info_of(saved.save()).cwd == '/srv/sh"op'
    moved = Saved(config, cwd="/first/place", folder="renamed-by-hand")
    moved.user("one")
    assert info_of(moved.save()).cwd == "/first/place"


def test_files_that_cannot_be_read(config, caplog, monkeypatch):
    """One that vanished is left out, one that is closed too, which the log tells."""
    gone, closed, fine = (conversation(config, name) for name in ("gone", "closed", "fine"))
    (config / "projects" / "folder").mkdir()
    (fine.folder / "0d402564-7374-4fb1-8177-edc40afd195b.jsonl").mkdir()
    problems = {str(gone.path): FileNotFoundError(), str(closed.path): PermissionError("closed")}

    def open_file(path, mode):
        if str(path) in problems:
            raise problems[str(path)]
        return open(path, mode)

    monkeypatch.setattr(session_info, "open", open_file, raising=False)
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert [info.title for info in Listing(fine.folder).infos()] == ["fine"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{closed.path} cannot be read and is not listed: closed"
    ]


def test_counting_what_is_gone(config, caplog):
    """Messages are counted when that is asked for; then the file may have been deleted."""
    info = info_of(conversation(config, "one", "two"))
    assert info.message_count == 4
    info = dataclasses.replace(info)
    info.path.unlink()
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert info.message_count == 0
    assert "cannot be read" in caplog.text


def test_a_summary_of_a_file_that_vanishes(config):
    """It keeps the title it had."""
    saved = conversation(config, "one")
    stranger = Saved(config)
    stranger.note("summary", summary="About one", leafUuid=saved.last)
    stranger.save()
    listing = Listing(saved.folder)
    saved.path.unlink()
    assert [info.title for info in listing.infos()] == ["one"]
