"""The list of saved conversations: which, in which order, and what is known about each."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from datetime import datetime, timezone
from pathlib import Path

import pytest
from saved_sessions import START, Saved, conversation
from tables import each

from claude_sync import SessionInfo, UsageError
from claude_sync.sessions import list_sessions, session_info

ID = "0d402564-7374-4fb1-8177-edc40afd195b"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The CLI's folder, as the environment names it."""
    folder = tmp_path / "config"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    return folder


def titles(*given, **named):
    """The titles that list_sessions() gives."""
    return [info.title for info in list_sessions(*given, **named)]


def is_listed(saved, **settings):
    """Whether a conversation is listed."""
    return saved.session_id in [info.session_id for info in list_sessions(**settings)]


def info_of(saved):
    """What is known about a conversation."""
    return session_info(saved.session_id)


def test_the_newest_comes_first(config):
    """Of all folders, or of one."""
    conversation(config, "old", age=30, cwd="/one")
    conversation(config, "newest", age=10, cwd="/one")
    conversation(config, "other", age=20, cwd="/two")
    assert titles() == ["newest", "other", "old"]
    assert titles("/one") == ["newest", "old"]
    assert titles(Path("/two")) == ["other"]
    assert titles("/three") == []


def test_a_part_of_the_list(config):
    """So many from so far on, of those that are listed; only their files are read."""
    for age in range(5):
        conversation(config, f"number {age}", age=age)
    Saved(config).save(age=-1)  # empty, so not listed
    assert titles(limit=2) == ["number 0", "number 1"]
    assert titles(limit=2, offset=3) == ["number 3", "number 4"]
    assert titles(offset=4) == ["number 4"]
    assert titles(limit=0) == titles(offset=9) == []
    for wrong in ({"limit": -1}, {"offset": -1}, {"limit": "3"}):
        with pytest.raises(UsageError):
            list_sessions(**wrong)


@pytest.mark.parametrize("relative", [False, True])
def test_worktrees_of_one_repository(config, tmp_path, relative):
    """From each of them all are found, as git notes them; other repositories are not."""
    main, tree, other = (tmp_path / name for name in ("main", "tree", "other"))
    for folder in (main / ".git" / "worktrees" / "tree", tree / "below", other / ".git"):
        folder.mkdir(parents=True)
    notes = main / ".git" / "worktrees" / "tree"
    named = (lambda path, at: os.path.relpath(path, at)) if relative else (lambda path, at: path)
    (tree / ".git").write_text(f"gitdir: {named(notes, tree)}\n")
    (notes / "gitdir").write_text(f"{named(tree / '.git', notes)}\n")
    (notes / "commondir").write_text("../..\n")
    gone = main / ".git" / "worktrees" / "gone"
    gone.mkdir()
    (gone / "gitdir").write_text(f"{tmp_path / 'gone' / '.git'}\n")
    for age, folder in enumerate((main, tree, tree / "below", other)):
        conversation(config, folder.name, age=age, cwd=os.path.realpath(folder))
    assert titles(main, worktrees=True) == ["main", "tree"]
    assert titles(tree, worktrees=True) == ["main", "tree"]
    assert titles(tree / "below", worktrees=True) == ["main", "tree", "below"]
    assert titles(main) == ["main"]
    assert titles(other, worktrees=True) == ["other"]
    assert titles(tmp_path, worktrees=True) == []
    with pytest.raises(UsageError, match="cwd="):
        list_sessions(worktrees=True)


def test_another_folder_of_the_cli(config, tmp_path):
    """config_dir= comes before the environment; a folder that is missing has none."""
    conversation(tmp_path / "another", "there")
    conversation(config, "here")
    assert titles() == ["here"]
    assert titles(config_dir=tmp_path / "another") == ["there"]
    assert titles(config_dir=tmp_path / "missing") == []


def test_folders_that_share_a_name(config):
    """a-b and a_b are kept in one folder, but each sees its own."""
    conversation(config, "dash", cwd="/srv/a-b")
    conversation(config, "underscore", cwd="/srv/a_b")
    assert titles("/srv/a-b") == ["dash"]
    assert titles("/srv/a_b") == ["underscore"]
    assert sorted(titles()) == ["dash", "underscore"]


def test_a_cwd_given_by_a_link(config, tmp_path, monkeypatch):
    """Links and relative paths lead to the same conversations."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    conversation(config, "real", cwd=os.path.realpath(tmp_path / "real"))
    conversation(config, "by the link", age=5, cwd=os.path.realpath(tmp_path / "real"))
    assert titles(tmp_path / "link") == ["real", "by the link"]
    monkeypatch.chdir(tmp_path / "link")
    assert titles(".") == ["real", "by the link"]


def test_the_folder_of_the_cli(monkeypatch, tmp_path):
    """The variable names it, else it is in the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    conversation(tmp_path / ".claude", "at home")
    assert titles() == ["at home"]


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/tmp/a_b/C.d", "-tmp-a-b-C-d"),
        ("/tmp/ünï cödé_日本.x", "-tmp--n--c-d-----x"),
        ("/tmp/emo\U0001f600ji", "-tmp-emo--ji"),
        # As CLI 2.1.325 names them: 200 signs, a dash, and a checksum of the path.
        (
            "/tmp/sess/bundled/" + "l" * 120 + "/" + "m" * 120 + "/n",
            "-tmp-sess-bundled-" + "l" * 120 + "-" + "m" * 61 + "-4q0f11",
        ),
    ],
)
@pytest.mark.skipif(os.path.realpath("/tmp") != "/tmp", reason="needs a /tmp that is no link")
def test_folders_are_named_as_clis_name_them(config, cwd, folder):
    """Each sign that is no ASCII letter or digit becomes a dash, for an emoji two."""
    saved = conversation(config, cwd=cwd, folder=folder)
    assert [info.path for info in list_sessions(cwd)] == [saved.path]
    assert titles("/" + "x/" * 3000) == []


def test_only_files_of_conversations_count(config, caplog):
    """Subagents, indexes, links in a circle and whatever people put there are passed over."""
    saved = conversation(config)
    for name in ("agent-12345678.jsonl", "sessions-index.json", f"{ID}.json", f"{ID}.jsonl.bak"):
        (saved.folder / name).write_text("{}")
    (saved.folder / f"{ID}.jsonl").mkdir()
    (config / "projects" / "file").write_text("no folder")
    for loop in (config / "projects" / "loop", saved.folder / (ID[::-1].replace("-", "") + ".x")):
        loop.symlink_to(loop)
    assert [info.path for info in list_sessions()] == [saved.path]


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


def test_the_copy_of_a_title_counts_where_the_line_is_far_away(config):
    """A long conversation may have gone on after the title; a line nearby counts before it."""
    saved = conversation(config, "the prompt")
    saved.note("custom-title", customTitle="far away")
    saved.user("x" * 70_000)
    saved.save()
    copy = saved.path.with_suffix("") / "custom-title.json"
    copy.parent.mkdir()
    assert info_of(saved).title == "the prompt"
    copy.write_text(json.dumps({"customTitle": "the copy"}))
    assert info_of(saved).title == "the copy"
    for broken in ("[]", "{", json.dumps({"customTitle": 5})):
        copy.write_text(broken)
        assert info_of(saved).title == "the prompt"
    copy.write_text(json.dumps({"customTitle": "the copy"}))
    saved.note("custom-title", customTitle="the line")
    assert info_of(saved.save()).title == "the line"


@each(
    ("ending", "title"),
    [
        (b'{"type":"ai-title","aiTitle":"1"}\n{"type":"ai-title","aiTitle":"2"}\n', "2"),
        (b'{"type":"ai-title","aiTitle":"1"}\n{"type":"ai-title","aiTitle":"2', "1"),
        (b'{"type":"ai-title","aiTitle":"1"}\n{"type":"y","of":{"type":"ai-title"}}\n', "1"),
        (b'{"type":"ai-title","aiTitle":"1"}\n{"type":"y","x":"say \\"ai-title\\""}\n', "1"),
        (b'{"type": "ai-title", "aiTitle": "7"}', "7"),
        (b'half of it, "ai-title"}\n', "hello"),
    ],
)
def test_the_last_title_is_found_among_other_lines(config, ending, title):
    """The last complete line that has the type itself, not in something inside it."""
    assert info_of(conversation(config).save(ending=ending)).title == title


@each(
    ("content", "prompt"),
    [
        ("plain", "plain"),
        ([{"type": "image"}, {"type": "text", "text": "one"}, {"text": "two"}], "one\ntwo"),
        ([{"text": "<system-reminder>x</system-reminder>"}, {"text": "typed"}], "typed"),
        ([{"type": "tool_result", "content": "out"}], None),
        ([7, None, {"text": 7}], None),
        (None, None),
    ],
)
def test_what_a_person_typed(config, content, prompt):
    """Text, in whatever form it is saved; nothing where there is none."""
    saved = Saved(config)
    saved.user(content)
    assert info_of(saved.save()).first_prompt == prompt


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
    (info,) = list_sessions(everything=True)
    assert (info.title, info.first_prompt) == ("handed on", "/clear")
    saved.user("a prompt")
    assert is_listed(saved.save())
    assert info_of(saved).first_prompt == "a prompt"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image", "source": {}}],
        [{"type": "tool_result", "tool_use_id": "t", "content": "out"}],
        "Unknown slash command: explain",
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


def test_what_claude_said_counts_as_asked(config):
    """An answer, and the summary that a compaction begins with."""
    for say in (Saved.says, lambda saved, text: saved.user(text, isCompactSummary=True)):
        saved = Saved(config)
        command(saved)
        assert not is_listed(saved.save())
        say(saved, "hello")
        assert is_listed(saved.save())


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
