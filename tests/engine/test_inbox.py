"""The inbox: ordered, merging when handlers are slow, pausing when too much waits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE

from claude_sync.engine import inbox as inbox_module
from claude_sync.engine.inbox import MERGE_FROM, Inbox, MergedDelta, delta_of
from claude_sync.testing import builders


@pytest.fixture
def inbox():
    """An empty inbox."""
    return Inbox()


@pytest.fixture
def backlog():
    """An inbox with so much in it that deltas are merged."""
    full = Inbox()
    for number in range(MERGE_FROM):
        full.put([f"old {number}"])
    return full


def work_off(inbox, timeout=0):
    """The next batch, taken and worked off; None if there is none."""
    batch = inbox.take(timeout)
    if batch is None:
        return None
    items = list(batch)
    batch.clear()
    return items


def take_new(backlog):
    """What was put after the backlog, as one list."""
    for _ in range(MERGE_FROM):
        work_off(backlog)
    items = []
    while True:
        batch = work_off(backlog)
        if batch is None:
            return items
        items += batch


def shown(items):
    """Merged deltas by their text, other items as they are."""
    return ["".join(each.texts) if isinstance(each, MergedDelta) else each for each in items]


def test_batches_come_out_in_order(inbox):
    """What was put first is taken first, batch by batch."""
    inbox.put([1, 2])
    inbox.put([3])
    assert (work_off(inbox), work_off(inbox), work_off(inbox)) == ([1, 2], [3], None)


def test_an_empty_batch_is_not_put(inbox):
    """A read that brought nothing for the dispatcher does not wake it."""
    inbox.put([])
    assert inbox.take(0) is None
    assert inbox.is_drained()


def test_take_waits_for_a_batch(inbox):
    """A taker sleeps until something is put."""
    with ThreadPoolExecutor(1) as pool:
        taking = pool.submit(inbox.take, PATIENCE)
        inbox.put(["hi"])
        assert taking.result(PATIENCE) == ["hi"]


def test_it_is_drained_when_everything_is_worked_off(inbox):
    """A batch that was taken still counts until it is done."""
    inbox.put([1])
    assert not inbox.is_drained()
    batch = inbox.take(0)
    assert not inbox.is_drained()
    batch.clear()
    assert inbox.is_drained()


def test_the_rest_of_a_batch_comes_next(inbox):
    """What was not delivered goes before everything else, and is not drained yet."""
    inbox.put([1, 2, 3])
    inbox.put([4])
    del inbox.take(0)[0]
    assert not inbox.is_drained()
    assert (work_off(inbox), work_off(inbox), work_off(inbox)) == ([2, 3], [4], None)


def test_a_batch_that_nobody_worked_off_comes_again(inbox):
    """A taker that was interrupted before it could begin loses nothing."""
    inbox.put([1, 2])
    assert inbox.take(0) == [1, 2]
    assert work_off(inbox) == [1, 2]
    assert inbox.is_drained()


def test_nothing_is_merged_while_handlers_keep_up(inbox):
    """Below the backlog every event is kept as it came."""
    events = [builders.text_delta("a"), builders.text_delta("b")]
    inbox.put(events)
    assert inbox.take(0) == events


def test_neighbouring_deltas_are_merged_in_a_backlog(backlog):
    """When handlers are slow, pieces of one block become one, in order."""
    backlog.put([builders.text_delta("a"), builders.text_delta("b")], 100)
    backlog.put([builders.text_delta("c")], 50)
    (merged,) = take_new(backlog)
    assert isinstance(merged, MergedDelta)
    assert merged.texts == ["a", "b", "c"]


@pytest.mark.parametrize(
    "other",
    [
        builders.text_delta("X", index=1),
        builders.text_delta("X", parent="toolu_1"),
        builders.thinking_delta("X"),
    ],
)
def test_deltas_of_different_blocks_are_not_merged(backlog, other):
    """Another index, another speaker or another kind begins a new piece."""
    backlog.put([builders.text_delta("a"), other, builders.text_delta("b")])
    assert shown(take_new(backlog)) == ["a", "X", "b"]


def test_merging_keeps_the_order_around_other_messages(backlog):
    """A message between two deltas keeps its place."""
    stop = builders.block_stop()
    backlog.put([builders.text_delta("a"), stop])
    backlog.put([builders.text_delta("b"), "message", builders.text_delta("c")])
    assert shown(take_new(backlog)) == ["a", stop, "b", "message", "c"]


def test_no_character_is_lost(backlog):
    """However the deltas arrive, the merged texts are the whole text."""
    words = [f"{number} " for number in range(500)]
    for start in range(0, 500, 7):
        backlog.put([builders.text_delta(word) for word in words[start : start + 7]], 700)
    assert "".join(shown(take_new(backlog))) == "".join(words)


def test_raw_events_are_not_merged_for_whoever_wants_them(backlog):
    """While raw events are wanted, a backlog keeps every one."""
    backlog.raw_wanted = True
    events = [builders.text_delta("a"), builders.text_delta("b")]
    backlog.put(list(events))
    assert take_new(backlog) == events


@pytest.mark.parametrize(
    "item",
    [
        "text",
        {},
        {"event": None},
        {"event": []},
        {"event": {"type": "content_block_delta"}},
        {"event": {"type": "content_block_delta", "delta": None}},
        {"event": {"type": "content_block_delta", "delta": {"type": "text_delta"}}},
        {"event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 3}}},
        {"event": {"type": "other", "delta": {"type": "text_delta", "text": "a"}}},
        builders.input_json_delta("{"),
        builders.message_stop(),
    ],
)
def test_only_pieces_of_text_can_be_merged(item):
    """Anything that is not a well-formed delta of text or thinking is left alone."""
    assert delta_of(item) is None


@pytest.fixture
def small(monkeypatch):
    """An inbox that is full with ten bytes."""
    monkeypatch.setattr(inbox_module, "HIGH_WATER", 10)
    return Inbox()


def test_a_reader_does_not_pause_while_there_is_room(small):
    """Up to the mark nobody waits."""
    small.put([1], 10)
    small.wait_for_room(lambda: False)


def test_a_reader_pauses_until_there_is_room(small):
    """Past the mark the reader waits until enough was taken."""
    small.put([1], 6)
    small.put([2], 6)
    with ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(small.wait_for_room, lambda: False)
        small.look_again()
        assert not pausing.done()
        small.take(0)
        pausing.result(PATIENCE)


def test_a_reader_does_not_pause_while_a_reply_is_due(small):
    """A request of ours, made while the reader pauses, lets it read on."""
    small.put([1], 11)
    due = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(small.wait_for_room, due.is_set)
        assert not pausing.done()
        due.set()
        small.look_again()
        pausing.result(PATIENCE)


def test_closing_ends_every_pause(small):
    """A client that closes does not leave its reader waiting."""
    small.put([1], 11)
    with ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(small.wait_for_room, lambda: False)
        small.release()
        pausing.result(PATIENCE)


def test_merged_text_takes_room(small):
    """Text that was merged into what waits still counts, so memory stays bounded."""
    for number in range(MERGE_FROM):
        small.put([number])
    small.put([builders.text_delta("a")], 1)
    small.put([builders.text_delta("b" * 20)], 1)
    with ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(small.wait_for_room, lambda: False)
        small.look_again()
        assert not pausing.done()
        take_new(small)
        pausing.result(PATIENCE)


def test_what_waits_is_counted(inbox):
    """Items and bytes; also of the batch that is being worked off."""
    assert inbox.waiting() == (0, 0)
    inbox.put(["a", "b"], 10)
    inbox.put(["c"], 5)
    assert inbox.waiting() == (3, 15)
    batch = inbox.take(0)
    assert inbox.waiting() == (3, 5)
    batch.clear()
    assert inbox.waiting() == (1, 5)
