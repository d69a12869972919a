"""The file that remembers what was finished: complete, mended, and of the same prompts."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest
from batch_executors import InlineExecutor, answered
from executables import ROOT

import claude_sync
import claude_sync.protocol.tries
from claude_sync import AskTimeout, Overloaded, UsageError
from claude_sync.batches import checkpoints
from claude_sync.batches.checkpoints import Checkpoint
from claude_sync.batches.items import Outcome
from claude_sync.batches.prompts import tasks_of


@pytest.fixture
def path(tmp_path):
    """A file that does not exist yet."""
    return tmp_path / "run.jsonl"


@pytest.fixture
def any_rights():
    """A umask that takes no right away: what is private was made so."""
    before = os.umask(0)
    yield
    os.umask(before)


def ask(prompts, path, outcome=None, **settings):
    """Run a batch; the items, and which prompts were really asked."""
    executor = InlineExecutor(outcome)
    batch = claude_sync.map(prompts, executor=executor, checkpoint=path, **settings)
    items = batch.results()
    return items, [index for index, _ in executor.tasks], batch


def lines_of(path):
    """What the file says, without its head."""
    head, *lines = map(json.loads, path.read_text().splitlines())
    assert head["claude_sync_checkpoint"] == 1
    return lines


def fails(*prompts):
    """Some prompts fail, and cost something."""

    def outcome(task):
        if task.prompt in prompts:
            return Outcome(error=AskTimeout(1.0), cost_usd=0.25)
        return answered(task, cost_usd=0.5)

    return outcome


def test_an_item_is_in_the_file_before_it_is_given_out(path):
    """Whatever happens next, it is not asked again."""
    batch = claude_sync.map(list("abc"), executor=InlineExecutor(), checkpoint=path)
    for item in batch:
        assert item.index in [line["index"] for line in lines_of(path)]
    assert len(lines_of(path)) == 3


def test_a_second_run_asks_only_what_is_missing(path):
    """What was finished comes from the file, in its place, with its figures."""
    assert ask(list("ab"), path, fails())[1] == [0, 1]
    again, asked, batch = ask(list("abcd"), path, fails())
    assert asked == [2, 3]
    assert [item.answer for item in again] == [f"echo: {letter}" for letter in "abcd"]
    assert [item.restored for item in again] == [True, True, False, False]
    assert again[0].cost_usd == again[0].answer.cost_usd == 0.5
    assert (again[0].attempts, again[0].seconds) == (1, 0.5)
    assert batch.cost_usd == 2.0
    assert (batch.done, batch.failed) == (4, 0)


def test_what_failed_is_asked_again_and_still_counts(path):
    """Its line is replaced, its cost is not forgotten, in any number of runs."""
    _, _, batch = ask(list("abc"), path, fails("b"))
    assert batch.cost_usd == 1.25
    _, asked, batch = ask(list("abc"), path, fails("b"))
    assert asked == [1]
    assert batch.cost_usd == 1.5
    items, asked, batch = ask(list("abc"), path, fails())
    assert asked == [1]
    assert batch.cost_usd == 2.0
    assert all(item.ok for item in items)
    assert sorted(line["index"] for line in lines_of(path)) == [0, 1, 2]
    assert not list(path.parent.glob("*.tmp"))


def test_the_budget_counts_earlier_runs(path):
    """A batch that goes on does not begin to spend anew."""
    ask(list("ab"), path, fails())
    items, asked, _ = ask(list("abcd"), path, fails(), budget_usd=1.0)
    assert asked == []
    assert [item.ok for item in items] == [True, True, False, False]


def overloaded(task):
    """Every attempt fails, and costs something."""
    return Outcome(error=Overloaded("busy"), cost_usd=1.0)


def test_a_try_that_the_budget_forbids_is_remembered_with_its_cost(path, monkeypatch):
    """What was spent on the tries before is spent in the next run, too."""
    monkeypatch.setattr(claude_sync.protocol.tries, "FIRST_WAIT", 0.001)
    _, asked, batch = ask(list("ab"), path, overloaded, budget_usd=2.0)
    assert (asked, batch.cost_usd) == ([0, 0], 2.0)
    _, asked, batch = ask(list("ab"), path, overloaded, budget_usd=2.0)
    assert (asked, batch.cost_usd) == ([], 2.0)


def test_what_waits_for_another_try_is_remembered_when_the_batch_is_left(path, monkeypatch):
    """Its first try has cost something."""
    monkeypatch.setattr(claude_sync.protocol.tries, "FIRST_WAIT", 3600.0)
    executor = InlineExecutor(lambda task: answered(task) if task.index == 0 else overloaded(task))
    with claude_sync.map(
        list("ab"), workers=2, executor=executor, checkpoint=path, ordered=False
    ) as batch:
        next(batch)
        batch._run._fill()
    assert [line["cost_usd"] for line in lines_of(path)] == [0.0, 1.0]


def test_what_is_spent_for_no_item_is_remembered(path):
    """By the batch, and by the next run."""
    batch = claude_sync.map(list("abc"), executor=InlineExecutor(fails()), checkpoint=path)
    next(batch)
    batch._run.spend(4.0)
    list(batch)
    assert batch.cost_usd == 5.5
    for _ in range(2):
        _, asked, batch = ask(list("abc"), path)
        assert (asked, batch.cost_usd) == ([], 5.5)


def test_half_a_line_is_cut_off(path):
    """The last words of a process that was killed, at any byte of them."""
    ask(list("abc"), path)
    whole = path.read_bytes()
    end_of_second = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(end_of_second, len(whole)):
        path.write_bytes(whole[:cut])
        items, asked, _ = ask(list("abc"), path)
        assert asked == [2]
        assert [item.answer for item in items] == ["echo: a", "echo: b", "echo: c"]
        assert len(lines_of(path)) == 3


def test_half_a_head_is_cut_off(path):
    """A process that was killed when it had just begun."""
    ask(["a"], path)
    head = path.read_bytes().splitlines(keepends=True)[0]
    for cut in range(len(head)):
        path.write_bytes(head[:cut])
        _, asked, _ = ask(["a"], path)
        assert asked == [0]
        assert len(lines_of(path)) == 1


def test_a_line_that_is_broken_elsewhere_is_told(path):
    """It is not ours to mend, and nothing is written over."""
    ask(list("abc"), path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:20] + b"\n"
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is broken at byte"):
        ask(list("abc"), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["hello", "hello\n", '{"index": 0}\n', "[1]\n"])
def test_another_file_is_left_alone(path, content):
    """Somebody's notes are not a checkpoint."""
    path.write_text(content)
    with pytest.raises(UsageError, match="is no checkpoint"):
        ask(["a"], path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"claude_sync_checkpoint": 1, "returns": None, "failed_usd": 0.0},
        {"index": -1, "digest": "00", "error": None, "cost_usd": 0.0},
        {"index": "0", "digest": "00", "error": None, "cost_usd": 0.0},
        {"index": 1 << 62, "digest": "00", "error": None, "cost_usd": 0.0},
        {"index": 0, "digest": "zz", "error": None, "cost_usd": 0.0},
        {"index": 0, "digest": "00", "error": {}, "cost_usd": "much"},
    ],
)
def test_a_line_that_is_no_item_is_told(path, line):
    """Two files that were put together, for example; nothing is written over."""
    ask(["a"], path)
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is broken at byte"):
        ask(["a"], path)
    assert path.read_bytes() == before
    assert not checkpoints.OPEN


@pytest.mark.parametrize("name", ["none/run.jsonl", ".", *(["pipe"] if os.name == "posix" else [])])
def test_what_cannot_be_a_checkpoint_is_told(tmp_path, name):
    """A folder that is missing, and things that can be read without end."""
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match="Name a"):
        ask(["a"], tmp_path / name)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_is_no_checkpoint():
    """It can be read without end, and never be written."""
    with pytest.raises(UsageError, match="no ordinary file"):
        ask(["a"], "/dev/full")


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_stays_a_link(path):
    """When failed items are taken out, the file that it names is the one that changes."""
    link = path.with_name("link.jsonl")
    link.symlink_to(path.name)
    ask(list("ab"), link, fails("b"))
    ask(list("ab"), link, fails())
    assert link.is_symlink()
    assert [line["error"] for line in lines_of(path)] == [None, None]


def test_half_a_line_is_taken_back_when_the_disk_is_full(path, monkeypatch):
    """Others are still to come, and a broken line among them could not be mended."""
    write = os.write
    ask(["a"], path)
    before = path.read_bytes()
    checkpoint = Checkpoint(path)
    items, _, _ = ask(["b"], path.with_name("other.jsonl"))

    def full(file, data):
        monkeypatch.setattr(os, "write", refused)
        return write(file, data[:10])

    def refused(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        checkpoint.add(items[0], 7)
    assert path.read_bytes() == before
    checkpoint.close()


def test_prompts_without_end_are_compared_as_far_as_they_are_known(path):
    """Something that can be read twice, and never to the end."""

    class Endless:
        def __iter__(self):
            return map(str, itertools.count())

    for _ in range(2):
        with claude_sync.map(Endless(), executor=InlineExecutor(), checkpoint=path) as batch:
            assert next(batch).answer == "echo: 0"


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        (["a", "x", "c"], "another prompt 1"),
        (["b", "a", "c"], "another prompt 0"),
        (["a", "b"], "only 2 prompts"),
        ([{"prompt": "a", "attach": [b"text"]}, "b", "c"], "another prompt 0"),
    ],
)
@pytest.mark.parametrize("kind", [list, iter])
def test_other_prompts_are_refused(path, prompts, words, kind):
    """Changed, in another order, or fewer: the answers would be those to other questions."""
    ask(list("abc"), path)
    with pytest.raises(UsageError, match=words):
        ask(kind(prompts), path)
    assert len(lines_of(path)) == 3


@pytest.mark.parametrize(
    ("prompts", "words"),
    [(["a", "b", "x"], "another prompt 2"), (["a", "b"], "only 2 prompts")],
)
def test_a_list_is_compared_before_anything_is_sent(path, prompts, words):
    """A generator cannot be read twice, so it is compared on the way."""
    ask(list("abc"), path, fails("a"))
    executor = InlineExecutor()
    batch = claude_sync.map(prompts, executor=executor, checkpoint=path)
    with pytest.raises(UsageError, match=words):
        next(batch)
    assert executor.tasks == []


def test_another_form_is_refused(path):
    """Answers of another schema are other answers."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    ask(["a"], path)
    with pytest.raises(UsageError, match="another form"):
        ask(["a"], path, returns=schema)


def test_typed_answers_are_read_again(path):
    """They are of the program's class, as they were the first time."""
    from dataclasses import dataclass

    @dataclass
    class Label:
        name: str

    def outcome(task):
        made = answered(task)
        made.answer._raw = {"type": "result", "structured_output": {"name": task.prompt}}
        return made

    for _ in range(2):
        items, _, _ = ask(["kind", "rude"], path, outcome, returns=Label)
        assert [item.data for item in items] == [Label("kind"), Label("rude")]
    assert items[0].restored
    assert items[0].as_json()["data"] == {"name": "kind"}


def test_results_can_be_had_again_from_the_file(path):
    """Without a checkpoint a batch keeps nothing; with one it reads it again."""
    batch = claude_sync.map(list("abc"), executor=InlineExecutor(fails("b")), checkpoint=path)
    next(batch)
    items = batch.results()
    assert [item.ok for item in items] == [True, False, True]
    assert [item.index for item in batch.results()] == [0, 1, 2]
    batch = claude_sync.map(list("ab"), executor=InlineExecutor())
    next(batch)
    with pytest.raises(UsageError, match="checkpoint="):
        batch.results()


@pytest.mark.parametrize("name", ["run.jsonl", "link.jsonl", "new.jsonl"])
def test_items_are_not_written_over_their_checkpoint(path, name):
    """What was paid for would be gone, and be asked again."""
    if name != "new.jsonl":
        ask(list("ab"), path)
    if name == "link.jsonl":
        os.link(path, path.with_name(name))
    else:
        path = path.with_name(name)
    before = path.read_bytes() if path.exists() else None
    executor = InlineExecutor()
    batch = claude_sync.map(list("abc"), executor=executor, checkpoint=path)
    with pytest.raises(UsageError, match="is the checkpoint of this batch"):
        batch.to_jsonl(str(path.with_name(name)))
    assert executor.tasks == []
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("first", ["checkpoint", "items"])
def test_items_are_written_beside_their_checkpoint(path, first):
    """Another file is another file, whichever of the two exists already."""
    items = path.with_name("items.jsonl")
    if first == "checkpoint":
        ask(list("ab"), path)
    else:
        items.write_text("old")
    claude_sync.map(list("abc"), executor=InlineExecutor(), checkpoint=path).to_jsonl(items)
    assert len(items.read_text().splitlines()) == 3
    assert len(lines_of(path)) == 3


def test_two_batches_cannot_use_one_file(path):
    """Neither in one process nor in two; afterwards it is free again."""
    batch = claude_sync.map(list("abc"), executor=InlineExecutor(), checkpoint=path)
    next(batch)
    with pytest.raises(UsageError, match="another batch"):
        ask(list("abc"), path)
    if os.name == "posix":
        code = (
            "import sys; from claude_sync.batches.checkpoints import Checkpoint\n"
            "try: Checkpoint(sys.argv[1])\nexcept Exception as error: print(error)"
        )
        said = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert "another batch" in said.stdout, said
    batch.close()
    assert all(item.ok for item in ask(list("abc"), path)[0])


def test_the_file_is_private_and_synced(path, monkeypatch):
    """Answers may be secret; a power failure loses a second, at most."""
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(checkpoints, "SYNC_EVERY", 3600.0)
    ask(list("abc"), path)
    assert len(synced) == 1  # at the end
    monkeypatch.setattr(checkpoints, "SYNC_EVERY", 0.0)
    ask(list("abcdef"), path)
    assert len(synced) == 1 + 3 + 1
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_the_file_stays_private_when_it_is_written_anew(path, any_rights):
    """What failed is taken out by writing the file again."""
    for _ in range(2):
        ask(list("ab"), path, fails("a"))
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_ends_the_batch(path, monkeypatch):
    """An item that is not on the disk is given out, and then the reason is raised."""
    written = []

    def full(file, data):
        written.append(data)
        if len(written) > 2:  # the head and an item
            raise OSError(28, "No space left on device")
        return len(data)

    monkeypatch.setattr(checkpoints, "write_all", full)
    executor = InlineExecutor()
    batch = claude_sync.map(list("abc"), workers=1, executor=executor, checkpoint=path)
    assert [next(batch).prompt, next(batch).prompt] == ["a", "b"]
    with pytest.raises(OSError, match="No space left"):
        next(batch)
    assert len(executor.tasks) == 2


def test_what_is_told_of_a_long_answer_is_found_again(path):
    """Lines longer than what is read at once."""
    long = "word " * 5000
    ask([long, "b"], path)
    items, asked, _ = ask([long, "b"], path)
    assert asked == []
    assert items[0].answer == f"echo: {long}"


def test_a_file_that_shrinks_is_told(path):
    """Somebody else's doing; not an endless wait."""
    ask(list("ab"), path)
    checkpoint = Checkpoint(path)
    path.write_bytes(b"")
    tasks = list(tasks_of(list("ab"), ""))
    with pytest.raises(UsageError, match="was changed"):
        checkpoint.restore(tasks[0])
    checkpoint.close()
    checkpoint.close()
