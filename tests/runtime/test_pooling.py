"""What keeps clients ready: in order, never too many, and with an end."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync import CliDidNotStart, Client, ClientClosed
from claude_sync.batches.pooling import Keeper, Member
from claude_sync.support.waiting import Deadline
from claude_sync.testing import ScriptedCli
from claude_sync.testing.offline import echo


class Life(ScriptedCli):
    """A stand-in that counts how often it was told to begin anew."""

    cleared = 0

    def write(self, data):
        """The client says something."""
        self.cleared += data.count(b'"/clear"')
        super().write(data)


class Starts:
    """Makes clients; counts how many are alive at once."""

    def __init__(self, fail=()):
        self.lock = threading.Lock()
        self.made = self.alive = self.most = 0
        self.fail = list(fail)
        self.lives = []

    def make(self):
        """The next client, or the next failure."""
        with self.lock:
            self.made += 1
            if self.fail:
                raise self.fail.pop(0)
            self.alive += 1
            self.most = max(self.most, self.alive)
            self.lives.append(Life(echo))
            life = self.lives[-1]
        return Client(transport=lambda: life, on_close=self.closed)

    def closed(self, _):
        """One has ended."""
        with self.lock:
            self.alive -= 1


@pytest.fixture
def keeper_of():
    """Keepers that are closed with the test."""
    keepers = []

    def make(starts, size=2, most_turns=None, ahead=False):
        keepers.append(Keeper(starts.make, size, most_turns, ahead, f"keeper-{len(keepers)}"))
        return keepers[-1]

    yield make
    for keeper in keepers:
        keeper.close(PATIENCE)


def take(keeper):
    """A client, at once or in a while."""
    member = keeper.take(Deadline(PATIENCE))
    assert member is not None
    return member


def test_clients_are_started_when_they_are_needed(keeper_of):
    """Without ahead, no more than are asked for."""
    starts = Starts()
    keeper = keeper_of(starts, size=3)
    keeper.open()
    assert starts.made == 0
    take(keeper)
    assert starts.made == 1


def test_clients_are_started_ahead(keeper_of):
    """All of them, so that nobody waits."""
    starts = Starts()
    keeper = keeper_of(starts, size=3, ahead=True)
    keeper.open()
    wait_until(lambda: keeper.count("idle") == 3)
    assert starts.made == 3


def test_there_are_never_too_many(keeper_of):
    """Not even while one ends and the next one starts."""
    starts = Starts()
    keeper = keeper_of(starts, size=2, most_turns=1, ahead=True)

    def use():
        for _ in range(6):
            keeper.give_back(take(keeper), reusable=True)

    threads = [threading.Thread(target=use, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert starts.most == 2
    assert starts.made >= 24


def test_a_spare_is_started_where_clients_are_used_once(keeper_of):
    """While one works, the next one starts."""
    starts = Starts()
    keeper = keeper_of(starts, size=2, most_turns=1)
    keeper.give_back(take(keeper), reusable=True)
    take(keeper)
    wait_until(lambda: keeper.count("idle") == 1)
    assert keeper.count() == 2


def test_a_spare_is_started_only_while_clients_cannot_be_used_twice(keeper_of):
    """Tools were used, say; and later they were not."""
    starts = Starts()
    keeper = keeper_of(starts, size=4)
    keeper.give_back(take(keeper), reusable=False)
    member = take(keeper)
    wait_until(lambda: keeper.count("idle") == 1)
    keeper.give_back(member, reusable=True)
    take(keeper)
    take(keeper)
    wait_until(lambda: keeper.count() == 2)
    assert starts.made == 3


def test_whoever_comes_first_is_served_first(keeper_of):
    """In the order of asking."""
    keeper = keeper_of(Starts(), size=1)
    member = take(keeper)
    served = []

    def want(name):
        mine = take(keeper)
        served.append(name)
        keeper.give_back(mine, reusable=True)

    threads = []
    for name in "abc":
        threads.append(threading.Thread(target=want, args=(name,), daemon=True))
        threads[-1].start()
        wait_until(lambda: len(keeper._waiting) == len(threads))
    keeper.give_back(member, reusable=True)
    for thread in threads:
        thread.join(PATIENCE)
    assert served == ["a", "b", "c"]


def test_a_failed_start_is_told_to_one_who_waits(keeper_of):
    """The next one gets another try."""
    starts = Starts(fail=[CliDidNotStart("no")])
    keeper = keeper_of(starts, size=1)
    with pytest.raises(CliDidNotStart):
        take(keeper)
    assert take(keeper).client.state == "idle"


def test_everybody_who_waits_is_told_of_failed_starts(keeper_of):
    """Also those for whom there was no room when they came."""
    gate = threading.Event()
    starts = Starts()

    def fails():
        gate.wait(PATIENCE)
        starts.made += 1
        raise CliDidNotStart("no")

    starts.make = fails
    keeper = keeper_of(starts, size=1)
    told = []

    def ask():
        try:
            keeper.take(Deadline(PATIENCE))
        except CliDidNotStart as error:
            told.append(error)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(keeper._waiting) == 5)
    gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(told) == starts.made == 5


def test_a_failed_start_is_told_to_nobody_who_comes_later(keeper_of, caplog):
    """Several fail while one waits: the next one gets another try, and not an old story."""
    keeper = keeper_of(Starts(), size=3)
    ticket = object()
    keeper._waiting.append(ticket)
    for _ in range(3):
        keeper._could_not_start(Member(), CliDidNotStart("no"))
    assert len(keeper._failures) == 1
    with pytest.raises(CliDidNotStart), keeper._changed:
        keeper._serve_locked(ticket)
    keeper._waiting.remove(ticket)
    assert take(keeper).client.state == "idle"


def test_a_failed_start_is_not_told_after_whoever_waited_has_left(keeper_of):
    """Ctrl-C, for example, came at the same time."""
    keeper = keeper_of(Starts(), size=1)

    def leave(ticket):
        keeper._failures.append(CliDidNotStart("no"))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keeper, "_is_turn_of_locked", leave)
        with pytest.raises(KeyboardInterrupt):
            take(keeper)
    assert take(keeper).client.state == "idle"


def test_a_failed_start_is_not_repeated_while_nobody_waits(keeper_of, caplog):
    """It is logged, and tried again when somebody asks."""
    starts = Starts(fail=[CliDidNotStart("no")] * 2)
    keeper = keeper_of(starts, size=2, ahead=True)
    keeper.open()
    wait_until(lambda: len(caplog.records) == 2)
    assert "could not be started" in caplog.text
    assert starts.made == 2
    assert take(keeper).client.state == "idle"


def test_while_starts_fail_no_more_are_tried_than_are_wanted(keeper_of, caplog):
    """One for each that waits, although all were to be started ahead."""
    starts = Starts(fail=[CliDidNotStart("no")] * 9)
    keeper = keeper_of(starts, size=3, ahead=True)
    keeper.open()
    wait_until(lambda: len(caplog.records) == 3)
    with pytest.raises(CliDidNotStart):
        take(keeper)
    assert starts.made == 4


def test_nothing_is_tidied_while_nobody_waits(keeper_of):
    """A new conversation is begun for a question, and not left behind without one."""
    starts = Starts()
    keeper = keeper_of(starts, size=1, ahead=True)
    member = take(keeper)
    keeper.give_back(member, reusable=True)
    assert keeper.count("used") == 1
    assert take(keeper) is member
    assert starts.lives[0].cleared == 1
    keeper.give_back(member, reusable=True)
    keeper.close(PATIENCE)
    assert starts.lives[0].cleared == 1


def test_a_client_that_was_not_used_comes_before_one_to_be_tidied(keeper_of):
    """What is ready is taken."""
    starts = Starts()
    keeper = keeper_of(starts, size=2, ahead=True)
    keeper.open()
    wait_until(lambda: keeper.count("idle") == 2)
    member = take(keeper)
    keeper.give_back(member, reusable=True)
    assert take(keeper) is not member
    assert (keeper.count("used"), starts.made) == (1, 2)
    assert [life.cleared for life in starts.lives] == [0, 0]


def test_a_client_is_tidied_for_one_who_waits_already(keeper_of):
    """It is told so when the client comes back."""
    starts = Starts()
    keeper = keeper_of(starts, size=1)
    member, taken = take(keeper), []
    thread = threading.Thread(target=lambda: taken.append(take(keeper)), daemon=True)
    thread.start()
    wait_until(lambda: keeper._waiting)
    keeper.give_back(member, reusable=True)
    thread.join(PATIENCE)
    assert taken == [member]
    assert (starts.lives[0].cleared, starts.made) == (1, 1)


def test_a_client_that_was_tidied_for_nobody_is_the_next(keeper_of):
    """So that the conversation it has begun does not stay empty."""
    starts = Starts()
    keeper = keeper_of(starts, size=2, ahead=True)
    keeper.open()
    wait_until(lambda: keeper.count("idle") == 2)
    one, other = take(keeper), take(keeper)
    keeper.give_back(one, reusable=True)
    assert take(keeper) is one
    keeper.put_back(other)
    keeper.put_back(one)
    assert take(keeper) is one


@pytest.mark.parametrize("state", ["idle", "used"])
def test_a_client_that_died_is_not_handed_out(keeper_of, state):
    """One whose CLI ended while nobody had it is replaced before anybody sees it."""
    starts = Starts()
    keeper = keeper_of(starts, size=1)
    member = take(keeper)
    if state == "idle":
        keeper.put_back(member)
    else:
        keeper.give_back(member, reusable=True)
    assert keeper.count(state) == 1
    starts.lives[0].hang_up(1)
    wait_until(lambda: member.client.state == "crashed")
    another = take(keeper)
    assert another is not member
    assert another.client.state == "idle"
    assert (starts.made, starts.lives[0].cleared) == (2, 0)


def test_whoever_was_first_stays_first_when_a_client_has_died(keeper_of):
    """It is no reason to wait behind the others."""
    starts = Starts()
    keeper = keeper_of(starts, size=1)
    served, threads, member = [], [], take(keeper)

    def want(name):
        mine = take(keeper)
        served.append(name)
        keeper.give_back(mine, reusable=True)

    for name in "ab":
        threads.append(threading.Thread(target=want, args=(name,), daemon=True))
        threads[-1].start()
        wait_until(lambda: len(keeper._waiting) == len(threads))
    starts.lives[0].hang_up(1)
    wait_until(lambda: member.client.state == "crashed")
    keeper.put_back(member)
    for thread in threads:
        thread.join(PATIENCE)
    assert served == ["a", "b"]


def test_the_time_to_wait_has_an_end(keeper_of):
    """And whoever gave up is not served later."""
    keeper = keeper_of(Starts(), size=1)
    member = take(keeper)
    assert keeper.take(Deadline(0.01)) is None
    assert not keeper._waiting
    keeper.give_back(member, reusable=True)
    assert take(keeper) is member


def test_closing_wakes_whoever_waits(keeper_of):
    """And ends what was lent."""
    keeper = keeper_of(Starts(), size=1)
    member = take(keeper)
    errors = []

    def want():
        try:
            keeper.take(Deadline(PATIENCE))
        except ClientClosed as error:
            errors.append(error)

    thread = threading.Thread(target=want, daemon=True)
    thread.start()
    wait_until(lambda: keeper._waiting)
    keeper.close(PATIENCE)
    thread.join(PATIENCE)
    assert len(errors) == 1
    assert member.client.state == "closed"
    keeper.give_back(member, reusable=True)  # late, and harmless
    assert keeper.count() == 0


def test_closing_while_one_starts(keeper_of):
    """It is not handed out, and not left behind."""
    gate = threading.Event()

    def silent(cli):
        gate.wait(PATIENCE)

    keeper = Keeper(lambda: Client(transport=lambda: ScriptedCli(silent)), 1, None, True, "k")
    keeper.open()
    wait_until(lambda: any(each._client is not None for each in keeper._members))
    gate.set()
    keeper.close(PATIENCE)
    assert keeper.count() == 0
