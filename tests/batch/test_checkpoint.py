"""The file that remembers what was finished: complete, whole, and of the same prompts."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from batch_executors import InlineExecutor, answered
from executables import ROOT

import claude_sync
from claude_sync import AskTimeout, ClaudeError, Overloaded, UsageError
from claude_sync.batch import limits
from claude_sync.batch.checkpoint import Checkpoint
from claude_sync.batch.items import Outcome
from claude_sync.testing import StandIn


@pytest.fixture
def path(tmp_path):
    """A file that does not exist yet."""
    return tmp_path / "run.db"


def ask(prompts, path, outcome=None, **settings):
    """Run a batch; the items, and which prompts were really asked."""
    executor = InlineExecutor(outcome)
    batch = claude_sync.map(prompts, executor=executor, checkpoint=path, **settings)
    items = batch.results()
    return items, [index for index, _ in executor.tasks], batch


def rows_of(path, columns="place, answer, error"):
    """What any SQLite tool finds in the file."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(f"SELECT {columns} FROM items ORDER BY place").fetchall()


def fails(*prompts):
    """Some prompts fail, and cost something."""

    def outcome(task):
        if task.prompt in prompts:
            return Outcome(error=AskTimeout(1.0), cost_usd=0.25)
        return answered(task, cost_usd=0.5)

    return outcome


def test_a_second_run_asks_only_what_is_missing(path):
    """What was answered comes as it was; prompts may be added at the end."""
    first, asked, _ = ask(["a", "b"], path, fails())
    assert asked == [0, 1]
    again, asked, batch = ask(["a", "b", "c"], path, fails())
    assert asked == [2]
    assert [item.answer for item in again] == ["echo: a", "echo: b", "echo: c"]
    assert [item.restored for item in again] == [True, True, False]
    assert [again[0].cost_usd, again[0].seconds] == [first[0].cost_usd, first[0].seconds]
    assert batch.cost_usd == 1.5


def test_an_item_is_in_the_file_before_it_is_given_out(path):
    """A process that is killed between two items loses nothing that was seen."""
    program = f"""
import os, signal, sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
import claude_sync
from batch_executors import InlineExecutor, answered
executor = InlineExecutor(lambda task: answered(task, 0.5))
for item in claude_sync.map(map(str, range(9)), executor=executor, checkpoint={str(path)!r}):
    if item.index == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
"""
    for last in (2, 5):
        done = subprocess.run([sys.executable, "-c", program, str(last)], check=False)
        assert done.returncode == -signal.SIGKILL
        finished = len(rows_of(path))
        assert finished > last
    items, asked, batch = ask(map(str, range(9)), path, fails())
    assert asked == list(range(finished, 9))
    assert [item.answer for item in items] == [f"echo: {number}" for number in range(9)]
    assert batch.cost_usd == 4.5


def test_what_failed_is_asked_again_and_still_counts(path):
    """The failure is in the file to be looked at, until there is an answer."""
    ask(["a", "b"], path, fails("a"))
    (_, answer, error), _ = rows_of(path)
    assert (answer, json.loads(error)["type"]) == (None, "AskTimeout")
    items, asked, batch = ask(["a", "b"], path, fails())
    assert asked == [0]
    assert all(item.ok for item in items)
    assert batch.cost_usd == 1.25
    assert rows_of(path, "error") == [(None,), (None,)]


def test_the_budget_counts_earlier_runs(path):
    """Nothing is sent once so much is spent, by whichever run."""
    ask(["a"], path, fails())
    _, asked, batch = ask(["a", "b", "c"], path, fails(), budget_usd=1.0)
    assert asked == [1]
    assert batch.cost_usd == 1.0


def test_what_waits_for_another_try_is_paid_when_the_batch_is_left(path, monkeypatch):
    """Nobody knows whether there is going to be another run."""
    monkeypatch.setattr(limits, "FIRST_WAIT", 3600.0)

    def outcome(task):
        if task.prompt == "a":
            return Outcome(error=Overloaded("busy"), cost_usd=0.25, seconds=9.0)
        return answered(task, 0.5)

    executor = InlineExecutor(outcome)
    with claude_sync.map(
        ["a", "b"], executor=executor, checkpoint=path, ordered=False, workers=1
    ) as batch:
        assert next(batch).prompt == "b"
    assert len(rows_of(path)) == 2
    assert ask(["a", "b"], path, fails())[2].cost_usd == 0.25 + 0.5 + 0.5


def test_typed_answers_are_read_again(path):
    """By the form that the second run asks for."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def outcome(task):
        made = answered(task)
        made.answer._raw = {"type": "result", "structured_output": {"n": 7}}
        return made

    ask(["a"], path, outcome, returns=schema)
    items, asked, _ = ask(["a"], path, returns=schema)
    assert (items[0].data, asked) == ({"n": 7}, [])
    with pytest.raises(UsageError, match="another returns="):
        ask(["a"], path)


def test_an_answer_of_another_form_can_be_asked_again(path):
    """on_change="keep" cannot make one form of the other; it says what can be done."""

    def outcome(task):
        made = answered(task)
        made.answer._raw = {"type": "result", "structured_output": {task.prompt: 7}}
        return made

    first, second = (dataclasses.make_dataclass("Form", [(name, int)]) for name in "ab")
    ask(["a"], path, outcome, returns=first)
    for on_change in ("keep", "raise"):
        with pytest.raises(UsageError, match=r"prompt 0 that is not of the form.*on_change='ask_"):
            ask(["a"], path, outcome, returns=second, on_change=on_change)
    assert ask(["a"], path, outcome, returns=second, on_change="ask_again")[1][:1] == [0]


def test_half_a_surrogate_pair_is_kept(path):
    """What was paid for is not lost to a character, which no text can hold."""
    ask(["a\ud800"], path)
    items, asked, _ = ask(["a\ud800"], path)
    assert (items[0].answer, asked) == ("echo: a?", [])


# What has changed meanwhile.


@pytest.mark.parametrize("kind", [list, iter])
@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        (["b", "a"], "another text or attachment of prompt 0"),
        ([{"prompt": "a", "attach": ["FILE"]}, "b"], "of prompt 0"),
    ],
)
def test_other_prompts_are_refused(path, prompts, words, kind):
    """The answers would be those to other questions; a list is refused before anything is sent."""
    path.with_name("FILE").write_text("attached")
    ask(["a", "b"], path)
    os.chdir(path.parent)
    executor = InlineExecutor()
    with pytest.raises(UsageError, match=words):
        claude_sync.map(kind(prompts), executor=executor, checkpoint=path).results()
    assert not executor.tasks


def test_another_setting_is_refused_by_its_name(path):
    """With what it was, unless that may be long or secret."""
    ask(["a", "b"], path, model="sonnet", system_prompt="You are brief.")
    with pytest.raises(UsageError, match=r"made with model='sonnet', not 'haiku'.* on_change="):
        ask(["a", "b"], path, model="haiku", system_prompt="You are brief.")
    with pytest.raises(UsageError, match="made with another system_prompt="):
        ask(["a", "b"], path, model="sonnet", system_prompt="You are long.")
    with pytest.raises(UsageError, match="made with another prompt="):
        ask(["a", "b"], path, model="sonnet", system_prompt="You are brief.", prompt="Why?")
    assert ask(["a"] * 2, path, model="sonnet", system_prompt="x", on_change="keep")[1] == []
    # That was a decision, which holds.
    assert ask(["a", "b"], path, model="sonnet", system_prompt="x")[1] == []


def test_what_the_stand_in_made_up_is_not_taken_for_an_answer(path):
    """Nor the other way round; any stand-in is as good as another."""
    stand_in = StandIn().command
    ask(["a"], path, cli=stand_in)
    assert ask(["a"], path, cli=StandIn(pace=0.1).command)[1] == []
    with pytest.raises(UsageError, match=r"with the stand-in \(offline\), not a .*'ask_again'"):
        ask(["a"], path)
    assert ask(["a"], path, on_change="ask_again")[1] == [0]
    with pytest.raises(UsageError, match=r"with a Claude Code CLI, not the stand-in \(offline\)"):
        ask(["a"], path, cli=stand_in)


def test_what_has_changed_is_asked_again_once(path):
    """And what was asked again before the batch was stopped is not asked a third time."""
    ask(list("abc"), path, model="sonnet")
    executor = InlineExecutor()
    batch = claude_sync.map(
        list("abc"),
        executor=executor,
        checkpoint=path,
        model="haiku",
        on_change="ask_again",
        workers=1,
    )
    assert not next(batch).restored
    batch.close()
    finished = len(executor.tasks)
    _, asked, _ = ask(list("abc"), path, model="haiku")
    assert asked == list(range(finished, 3))
    _, asked, _ = ask(["a", "other", "c"], path, model="haiku", on_change="ask_again")
    assert asked == [1]


def test_an_attachment_is_its_content(path):
    """Another name is no change; another content is."""
    one, two = path.with_name("one.txt"), path.with_name("two.txt")
    one.write_text("content")
    two.write_text("content")
    ask([{"prompt": "a", "attach": [one.read_bytes()]}], path)
    assert ask([{"prompt": "a", "attach": [two.read_bytes()]}], path)[1] == []
    two.write_text("other content")
    with pytest.raises(UsageError, match="attachment"):
        ask([{"prompt": "a", "attach": [two.read_bytes()]}], path)


@pytest.mark.parametrize("identify", ["name", lambda row: row["name"]])
def test_prompts_are_found_by_their_ids(path, identify):
    """So the input may grow, shrink and be reordered."""
    rows = [{"prompt": word, "name": word} for word in "abc"]
    if callable(identify):
        rows = [{"prompt": f"{row['prompt']}", "id": row["name"], "name": ""} for row in rows]
        rows = [{"prompt": row["prompt"], "id": row["id"]} for row in rows]
        identify = lambda row: row["id"]  # noqa: E731
    ask(rows, path, id=identify)
    new = {"prompt": "d", **({"name": "d"} if isinstance(identify, str) else {"id": "d"})}
    items, asked, _ = ask([new, rows[2], rows[0]], path, id=identify)
    assert asked == [0]
    assert [(item.index, item.id, item.answer) for item in items] == [
        (0, "d", "echo: d"),
        (1, "c", "echo: c"),
        (2, "a", "echo: a"),
    ]
    changed = {**rows[0], "prompt": "other"}
    with pytest.raises(UsageError, match="of the prompt 'a'"):
        ask([changed], path, id=identify)


# Files of 0.1.

OLD = [
    {"claude_sync_checkpoint": 1, "returns": None, "failed_usd": 0.25},
    {
        "index": 0,
        "answer": "old a",
        "error": None,
        "cost_usd": 0.5,
        "attempts": 1,
        "seconds": 2.0,
        "digest": "ca978112ca1bbdca",
        "session_id": "s",
    },
    {
        "index": 1,
        "answer": None,
        "error": {"type": "X", "message": "x"},
        "cost_usd": 1.0,
        "attempts": 3,
        "seconds": 1.0,
        "digest": "0",
    },
    {"index": None, "error": {"type": "LateCost"}, "cost_usd": 2.0},
]


def test_a_file_of_0_1_is_imported(path):
    """Its answers and its costs; half a line at the end is what a killed process left."""
    text = "".join(json.dumps(line) + "\n" for line in OLD) + '{"index": 2, "ans'
    path.write_text(text)
    items, asked, batch = ask(["a", "b"], path, fails(), model="haiku")
    assert asked == [1]
    assert [item.answer for item in items] == ["old a", "echo: b"]
    assert batch.cost_usd == 0.25 + 0.5 + 1.0 + 2.0 + 0.5
    assert path.with_name("run.db.0.1").read_text() == text
    assert ask(["a", "b"], path, model="haiku")[1] == []


def test_an_import_that_is_stopped_loses_nothing(path, monkeypatch):
    """Whichever file it was that was being moved."""
    path.write_text("".join(json.dumps(line) + "\n" for line in OLD))
    replace = os.replace

    def stop(source, target):
        if str(source).endswith(".new"):
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            ask(["a"], path)
    assert ask(["a"], path)[1] == []


def test_a_file_of_0_1_must_be_of_the_same_prompts_and_form(path):
    """As any other."""
    path.write_text("".join(json.dumps(line) + "\n" for line in OLD))
    with pytest.raises(UsageError, match="another text"):
        ask(["x"], path)
    with pytest.raises(UsageError, match="another returns="):
        ask(["a"], path, returns={"type": "object", "properties": {"n": {"type": "integer"}}})


# Files that cannot be used.


@pytest.mark.parametrize("content", ["hello", '{"index": 0}\n', "SQLite format 3\0 and so on"])
def test_another_file_is_left_alone(path, content):
    """Whatever it is."""
    path.write_text(content)
    with pytest.raises(UsageError, match="is not a batch checkpoint, so it was not changed"):
        ask(["a"], path)
    assert path.read_text() == content


def test_another_database_is_left_alone(path):
    """A program's own data is not written to."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="was not changed"):
        ask(["a"], path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("line", ["not json", '{"index": 0, "error": null}', "[1]"])
def test_a_broken_file_of_0_1_is_left_alone(path, line):
    """It is not ours to mend."""
    text = json.dumps(OLD[0]) + f"\n{line}\n"
    path.write_text(text)
    with pytest.raises(UsageError, match="is damaged"):
        ask(["a"], path)
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["none/run.db", ".", *(["pipe"] if os.name == "posix" else [])])
def test_what_cannot_be_a_checkpoint_is_told(tmp_path, name):
    """Before anything is asked."""
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be opened"):
        ask(["a"], tmp_path / name)


def test_two_batches_cannot_use_one_file(path):
    """Neither in this process nor in another one."""
    first = claude_sync.map(["a", "b"], executor=InlineExecutor(), checkpoint=path)
    next(first)
    with pytest.raises(UsageError, match="used by another batch"):
        ask(["a"], path)
    code = f"from claude_sync.batch.checkpoint import Checkpoint; Checkpoint({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert "used by another batch" in done.stderr
    first.close()
    assert ask(["a", "b"], path)[1] == [1]


def test_the_file_is_private(path):
    """Answers are nobody else's business."""
    before = os.umask(0)
    try:
        ask(["a"], path)
    finally:
        os.umask(before)
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_ends_the_batch(path):
    """After what was finished, and the next run goes on."""
    prompts = [f"{number} " + "x" * 500 for number in range(400)]
    batch = claude_sync.map(prompts, executor=InlineExecutor(fails()), checkpoint=path)
    next(batch)
    pages = batch._run._checkpoint._run("PRAGMA page_count").fetchone()[0]
    batch._run._checkpoint._run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ClaudeError, match=r"disk is full.* continues from there"):
        for _ in batch:
            pass
    cost = batch.cost_usd
    items, asked, again = ask(prompts, path, fails())
    assert all(item.ok for item in items)
    assert 0 < len(asked) < 400
    assert again.cost_usd <= cost + 0.5 * len(asked)


@pytest.mark.parametrize("place", range(3))
def test_an_item_that_ctrl_c_interrupts_is_kept_and_paid_once(path, monkeypatch, place):
    """Wherever it comes while the item is being written."""
    run, queries = Checkpoint._run, []

    def press(self, query, *values):
        result = run(self, query, *values)
        if queries or query.startswith("INSERT OR REPLACE"):
            queries.append(query)
            if len(queries) == place + 1:
                raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Checkpoint, "_run", press)
    with pytest.raises(KeyboardInterrupt):
        ask(["a", "b"], path, fails(), workers=1)
    assert queries[place].startswith(("INSERT", "UPDATE", "COMMIT")[place])
    assert rows_of(path, "answer, cost_usd") == [("echo: a", 0.5)]
    assert ask(["a", "b"], path, fails())[2].cost_usd == 1.0


def test_what_had_no_room_on_the_disk_is_paid_when_there_is_some(path):
    """The cost of an item that could not be written is remembered at the end."""
    prompts = [f"{number} " + "x" * 500 for number in range(400)]
    executor = InlineExecutor(fails())
    batch = claude_sync.map(prompts, executor=executor, checkpoint=path, workers=1)
    next(batch)
    checkpoint = batch._run._checkpoint
    pages = checkpoint._run("PRAGMA page_count").fetchone()[0]
    checkpoint._run(f"PRAGMA max_page_count = {pages}")
    add = checkpoint.add

    def make_room(*values):
        try:
            add(*values)
        except ClaudeError:
            checkpoint._run("PRAGMA max_page_count = 100000")
            raise

    checkpoint.add = make_room
    with pytest.raises(ClaudeError, match="disk is full"):
        for _ in batch:
            pass
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT cost_usd FROM batch").fetchone()[0] == batch.cost_usd


# Shards.


def test_shards_are_merged_into_one(path):
    """Each has a file of its own; what they have cost counts once, however often."""
    for number in range(3):
        ask(list("abcdefg"), path, fails("c"), shard=(number, 3), model="m")
    assert not path.exists()
    assert claude_sync.batch.merge(path) == claude_sync.batch.merge(path) == 3
    items, asked, batch = ask(list("abcdefg"), path, fails(), model="m")
    assert asked == [2]
    assert [item.answer for item in items] == [f"echo: {word}" for word in "abcdefg"]
    assert batch.cost_usd == 6 * 0.5 + 0.25 + 0.5
    ask(list("abcdefg"), path, fails(), shard=(2, 3), model="m")
    claude_sync.batch.merge(path)
    assert ask(list("abcdefg"), path, model="m")[2].cost_usd == batch.cost_usd + 0.5


def test_shards_of_different_settings_are_not_merged(path):
    """Only the answers of one of them would count, and the others be paid once more."""
    for number, model in enumerate(("haiku", "sonnet")):
        ask(list("abcd"), path, shard=(number, 2), model=model)
    with pytest.raises(UsageError, match=r"0-of-2 was made with model='haiku', not 'sonnet'"):
        claude_sync.batch.merge(path)
    assert not path.exists()
    ask(list("abcd"), path, shard=(0, 2), model="sonnet", on_change="ask_again")
    assert claude_sync.batch.merge(path) == 2
    assert ask(list("abcd"), path, model="sonnet")[1] == []
