"""What keeps clients ready: in order, never too many, and with an end."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync import AskTimeout, CliDidNotStart, Client, ClientClosed
from claude_sync.batch.clients import Clients, Deadline, Member
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

    def make(self, _=None):
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
def clients_of():
    """Clients that are closed with the test."""
    made = []

    def make(starts, size=2, most_turns=None, ahead=False):
        name = f"clients-{len(made)}"
        made.append(Clients(starts.make, size, name, most_turns=most_turns, ahead=ahead))
        return made[-1]

    yield make
    for clients in made:
        clients.close(PATIENCE)


def take(clients, timeout=PATIENCE):
    """A client, at once or in a while."""
    return clients.take(Deadline(timeout))


def ask(clients, reusable=True):
    """Ask something; the client that was asked."""
    member = take(clients)
    member.client.ask("x", timeout=PATIENCE)
    clients.give_back(member, reusable=reusable)
    return member


def cleared(starts):
    """How often each CLI was told to begin anew."""
    return [life.cleared for life in starts.lives]


def test_clients_are_started_when_they_are_needed(clients_of):
    """Without ahead, no more than are asked for."""
    starts = Starts()
    clients = clients_of(starts, size=3)
    clients.open()
    assert starts.made == 0
    take(clients)
    assert starts.made == 1


def test_clients_are_started_ahead(clients_of):
    """All of them, so that nobody waits."""
    starts = Starts()
    clients = clients_of(starts, size=3, ahead=True)
    clients.open()
    wait_until(lambda: clients.counts == (3, 3, 0))
    assert starts.made == 3


def test_there_are_never_too_many(clients_of):
    """Not even while one ends and the next one starts."""
    starts = Starts()
    clients = clients_of(starts, size=2, most_turns=1, ahead=True)

    def use():
        for _ in range(6):
            clients.give_back(take(clients), reusable=True)

    threads = [threading.Thread(target=use, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert starts.most == 2
    assert starts.made >= 24


def test_a_spare_is_started_only_where_clients_are_used_once(clients_of):
    """While one works, the next one starts; not where they can be used again."""
    starts = Starts()
    clients = clients_of(starts, size=3)
    ask(clients)
    member = take(clients)
    assert starts.made == 1
    clients.give_back(member, reusable=False)
    take(clients)
    wait_until(lambda: clients.counts == (2, 1, 1))


def test_whoever_comes_first_is_served_first(clients_of):
    """In the order of asking; and a client wakes the one that gets it."""
    clients = clients_of(Starts(), size=1)
    member = take(clients)
    served = []

    def want(name):
        mine = take(clients)
        served.append(name)
        clients.give_back(mine, reusable=True)

    threads = []
    for name in "abc":
        threads.append(threading.Thread(target=want, args=(name,), daemon=True))
        threads[-1].start()
        wait_until(lambda: len(clients._waiting) == len(threads))
    clients.give_back(member, reusable=True)
    for thread in threads:
        thread.join(PATIENCE)
    assert served == ["a", "b", "c"]


def test_whoever_was_first_stays_first_when_a_client_has_died(clients_of):
    """It gets the next one, before those that came later."""
    starts = Starts()
    clients = clients_of(starts, size=1)
    member = take(clients)
    served = []

    def want(name):
        mine = take(clients)
        served.append(name)
        clients.give_back(mine, reusable=False)

    threads = []
    for name in "ab":
        threads.append(threading.Thread(target=want, args=(name,), daemon=True))
        threads[-1].start()
        wait_until(lambda: len(clients._waiting) == len(threads))
    member.client.ask("x", timeout=PATIENCE)
    with clients._lock:
        member.was_used = True
        clients._lent.discard(member)
        clients._idle.append(member)
    starts.lives[0].kill()
    wait_until(lambda: member.client.state != "idle")
    clients._serve()
    for thread in threads:
        thread.join(PATIENCE)
    assert served == ["a", "b"]


def test_a_failed_start_is_told_to_whoever_asks(clients_of, caplog):
    """Each asks a CLI of its own, and a start ahead that fails is only logged."""
    starts = Starts(fail=[CliDidNotStart("no")] * 4)
    clients = clients_of(starts, size=2, ahead=True)
    clients.open()
    wait_until(lambda: clients.counts[0] == 0)
    assert "could not be started" in caplog.text
    made = starts.made
    for _ in range(4 - made):
        with pytest.raises(CliDidNotStart):
            take(clients)
    assert take(clients).client.state == "idle"


def test_those_behind_a_failed_start_are_served(clients_of):
    """There is room again, for whoever waits."""
    gate = threading.Event()
    starts = Starts(fail=[CliDidNotStart("no")] * 3)
    make = starts.make
    starts.make = lambda _: (gate.wait(PATIENCE), make())[1]
    clients = clients_of(starts, size=1)
    errors = []

    def want():
        try:
            take(clients)
        except CliDidNotStart as error:
            errors.append(error)

    threads = [threading.Thread(target=want, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(clients._waiting) == 2)
    gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(errors) == 3


def test_a_client_is_tidied_by_whoever_comes_next(clients_of):
    """And not before: it would leave an empty conversation behind."""
    starts = Starts()
    clients = clients_of(starts, size=2)
    ask(clients)
    assert cleared(starts) == [0]
    ask(clients)
    assert cleared(starts) == [1]


def test_a_client_that_was_not_used_comes_before_one_to_be_tidied(clients_of):
    """It has a fresh conversation."""
    starts = Starts()
    clients = clients_of(starts, size=2, ahead=True)
    clients.open()
    wait_until(lambda: clients.counts[1] == 2)
    assert ask(clients) is not ask(clients)
    assert cleared(starts) == [0, 0]


def test_a_client_that_died_is_not_handed_out(clients_of):
    """Another one comes instead."""
    starts = Starts()
    clients = clients_of(starts, size=1)
    dead = ask(clients)
    starts.lives[0].kill()
    wait_until(lambda: dead.client.state != "idle")
    member = take(clients)
    assert member is not dead
    assert member.client.state == "idle"


def test_the_time_to_wait_has_an_end(clients_of):
    """With the time that was given; who has left is not served."""
    clients = clients_of(Starts(), size=1)
    member = take(clients)
    with pytest.raises(AskTimeout) as caught:
        take(clients, 0.01)
    assert (caught.value.timeout, caught.value.sent) == (0.01, False)
    clients.give_back(member, reusable=True)
    assert take(clients) is member


def test_a_slow_start_is_for_the_next_one(clients_of):
    """Whoever had no time left leaves; the CLI becomes ready for another."""
    ready = threading.Event()
    lives = []

    def slow(cli):
        ready.wait(PATIENCE)
        echo(cli)

    def make(_):
        lives.append(ScriptedCli(slow))
        return Client(transport=lambda: lives[-1])

    clients = Clients(make, 1, "slow", ahead=False)
    with pytest.raises(AskTimeout):
        take(clients, 0.05)
    ready.set()
    assert take(clients).client.state == "idle"
    assert len(lives) == 1
    clients.close(PATIENCE)


def test_closing_wakes_whoever_waits(clients_of):
    """With an error that says so."""
    clients = clients_of(Starts(), size=1)
    take(clients)
    errors = []

    def want():
        try:
            take(clients)
        except ClientClosed as error:
            errors.append(error)

    thread = threading.Thread(target=want, daemon=True)
    thread.start()
    wait_until(lambda: clients._waiting)
    clients.close(PATIENCE)
    thread.join(PATIENCE)
    assert "Make a new Pool" in str(errors[0])
    with pytest.raises(ClientClosed):
        take(clients)


def test_costs_count_once_and_late_ones_are_told():
    """What an agent spends after the answer is the cost of no question."""
    late = []
    clients = Clients(lambda _: None, 1, "x", late=late.append)

    class Spender:
        cost_usd = 1.0

    member = Member()
    member._client = Spender()
    clients._members.add(member)
    assert (clients.settle(member), clients.settle(member)) == (1.0, 0.0)
    member._client.cost_usd = 3.5
    clients._forget(member)
    clients._forget(member)
    assert (late, clients.cost_usd) == ([2.5], 3.5)
