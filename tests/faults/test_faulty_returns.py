"""Typed answers where things go wrong: wrong forms, restarts, CLIs that know no forms."""

import dataclasses
import json
import threading

import pytest
from patience import PATIENCE
from stand_ins import Background

from claude_sync import (
    AskTimeout,
    BudgetExceeded,
    Client,
    ClientClosed,
    ReturnsError,
    UnsupportedByCli,
    UsageError,
)
from claude_sync.testing import ScriptedCli, builders

PLAIN_TOOLS = ["Bash"]
FORM_TOOLS = ["Bash", "StructuredOutput"]


@dataclasses.dataclass
class City:
    """A place with people."""

    name: str
    people: int


@dataclasses.dataclass
class River:
    """Water on its way."""

    length: float


PARIS = {"name": "Paris", "people": 2}


def schema_of(cli):
    """What a CLI was started or greeted with, or None."""
    for word in cli.launch.argv:
        if word.startswith("--json-schema="):
            return json.loads(word.partition("=")[2])
    return None


def begin(cli, user, tools):
    """How a turn begins, with these tools."""
    for message in (*cli.beginning(user, False), *cli.repetition(user)):
        cli.say({**message, "tools": tools} if message.get("subtype") == "init" else message)


class Cities:
    """
    CLIs, one after the other, that answer in the form they were started with.

    Attributes:
        lives: All of them.
        asked: (number of the life, content) of each question.
        outputs: What to answer, one each; after that PARIS.

    """

    def __init__(self, style="old", outputs=(), knows_forms=True):
        self.style = style
        self.lives = []
        self.asked = []
        self.outputs = list(outputs)
        self.knows_forms = knows_forms

    def make(self):
        """The next life."""
        number = len(self.lives)
        self.lives.append(ScriptedCli(lambda cli: self.play(cli, number), style=self.style))
        return self.lives[-1]

    def play(self, cli, number):
        """Answer everything."""
        schema = schema_of(cli)
        if schema is not None and not self.knows_forms:
            cli.print_error("error: unknown option '--json-schema={...}'")
            cli.exit(1)
        while True:
            message = cli.receive()
            if message["type"] == "control_request":
                request = message["request"]
                if request["subtype"] == "initialize":
                    if self.style == "new":
                        schema = request.get("jsonSchema", schema)
                    cli.say(cli.initialized(message))
                else:
                    cli.reply(message, life=number)
                continue
            self.asked.append((number, message["message"]["content"]))
            self.answer(cli, message, schema)

    def answer(self, cli, user, schema):
        """One turn."""
        begin(cli, user, PLAIN_TOOLS if schema is None else FORM_TOOLS)
        data = None
        if schema is not None and not str(user["message"]["content"]).startswith("/"):
            data = self.outputs.pop(0) if self.outputs else PARIS
        life = self.lives.index(cli)
        total = 0.5 * len([each for each, _ in self.asked if each == life])
        fields = {"total_cost_usd": total}
        if data is not None:
            fields["structured_output"] = data
        cli.end_turn(user, "said " + str(user["message"]["content"]), **fields)

    def check(self):
        """Nothing unexpected happened."""
        for life in self.lives:
            life.assert_done()


@pytest.fixture
def client_of():
    """Clients of such CLIs, closed and checked at the end."""
    made = []

    def make(cities, **options):
        client = Client(transport=cities.make, **options)
        made.append((client, cities))
        return client

    yield make
    for client, cities in made:
        client.close()
        cities.check()


# One form for all questions.


@pytest.mark.parametrize("style", ["old", "new"])
def test_a_client_of_one_form(client_of, style):
    """Client(returns=T): every answer has data of that type, and the CLI starts once."""
    cities = Cities(style)
    client = client_of(cities, returns=City)
    assert client.ask("one", timeout=PATIENCE).data == City("Paris", 2)
    assert client.ask("two", timeout=PATIENCE).data == City("Paris", 2)
    assert len(cities.lives) == 1
    assert schema_of(cities.lives[0])["required"] == ["name", "people"]


def test_a_command_has_no_form(client_of):
    """The output of a slash command is no data, and that is no error."""
    cities = Cities()
    client = client_of(cities, returns=City)
    answer = client.ask("/cost", timeout=PATIENCE)
    assert answer == "said /cost"
    assert answer.data is None


def test_what_cannot_be_a_form_is_refused_at_once():
    """UsageError, from the client and from ask(), before anything is started."""

    class Empty:
        pass

    with pytest.raises(UsageError):
        Client(returns=Empty)
    with pytest.raises(UsageError):
        Client(transport=ScriptedCli()).ask("hi", returns=Empty)


def test_a_transport_that_lives_once_has_one_form():
    """Another form is refused before anything happens to the conversation."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        with pytest.raises(UsageError, match=r"Client\(returns="):
            client.ask("typed", returns=City)
        turn = client.submit("plain")
        cli.accept()
        cli.answer("Hello", prompt="plain")
        assert turn.result(PATIENCE) == "Hello"
    cli.assert_done()


# Another form for one question.


@pytest.mark.parametrize("post", [None, "manual", "caller"])
@pytest.mark.parametrize("handled", [False, True])
def test_a_form_for_one_question(client_of, post, handled):
    """The CLI is started again with the form, resumes; and without it for what comes next."""
    cities = Cities()
    heard = []
    client = client_of(cities, post=post, **({"on_result": heard.append} if handled else {}))
    assert client.ask("plain", timeout=PATIENCE).data is None
    session = client.session_id
    assert client.ask("typed", returns=City, timeout=PATIENCE).data == City("Paris", 2)
    assert client.ask("typed again", returns=City, timeout=PATIENCE).data == City("Paris", 2)
    assert client.ask("/cost", timeout=PATIENCE) == "said /cost"
    assert client.ask("plain again", timeout=PATIENCE).data is None
    assert [life for life, _ in cities.asked] == [0, 1, 1, 1, 2]
    assert [schema_of(life) is not None for life in cities.lives] == [False, True, False]
    for life in cities.lives[1:]:
        assert f"--resume={session}" in life.launch.argv
        assert not any(word.startswith("--session-id") for word in life.launch.argv)
    assert len(heard) == 5 * handled


def test_the_first_question_decides_how_the_cli_starts(client_of):
    """Nothing is started twice for a form that is known before the start."""
    cities = Cities()
    client = client_of(cities)
    assert client.ask("typed", returns=City, timeout=PATIENCE).data == City("Paris", 2)
    assert len(cities.lives) == 1


@pytest.mark.parametrize(("style", "lives"), [("new", 1), ("old", 2)])
def test_a_form_that_comes_with_the_greeting(client_of, style, lives):
    """A new CLI that runs but was not greeted takes it; an old one is started again."""
    cities = Cities(style)
    client = client_of(cities)
    with client:
        assert client.ask("typed", returns=City, timeout=PATIENCE).data == City("Paris", 2)
        assert len(cities.lives) == lives
        if lives == 2:  # nothing to resume
            assert not any("resume" in word for word in cities.lives[1].launch.argv)


def test_two_forms(client_of):
    """Each question gets its own."""
    cities = Cities(outputs=[PARIS, {"length": 7}, PARIS])
    client = client_of(cities, returns=City)
    assert client.ask("one", timeout=PATIENCE).data == City("Paris", 2)
    assert client.ask("two", returns=River, timeout=PATIENCE).data == River(7.0)
    assert client.ask("three", timeout=PATIENCE).data == City("Paris", 2)
    assert [life for life, _ in cities.asked] == [0, 1, 2]


def test_restarts_are_no_crashes(client_of, caplog):
    """No handler is told, nothing is logged as a warning, any number of them is fine."""
    cities = Cities()
    closed, errors = [], []
    client = client_of(cities, on_close=closed.append, on_error=errors.append)
    for number in range(8):
        form = City if number % 2 else None
        assert client.ask(str(number), returns=form, timeout=PATIENCE) == f"said {number}"
    assert (closed, errors) == ([], [])
    told = [record for record in caplog.records if record.levelname not in ("DEBUG", "INFO")]
    assert not told
    assert len(cities.lives) == 8
    assert client.state == "idle"


def test_model_and_mode_are_set_again(client_of):
    """What was changed on the process before is said to the next one."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    client.set_model("opus")
    client.set_permission_mode("acceptEdits")
    client.ask("typed", returns=City, timeout=PATIENCE)
    assert "--model=opus" in cities.lives[1].launch.argv
    assert "--permission-mode=acceptEdits" in cities.lives[1].launch.argv


def test_questions_of_threads_with_and_without_forms(client_of):
    """Everybody gets an answer to their own question, of their own form."""
    cities = Cities()
    client = client_of(cities)
    wrong = []

    def ask(name, form):
        for number in range(3):
            answer = client.ask(f"{name}-{number}", returns=form, timeout=PATIENCE)
            expected = None if form is None else City("Paris", 2)
            if answer != f"said {name}-{number}" or answer.data != expected:
                wrong.append(answer)

    threads = [
        threading.Thread(target=ask, args=(name, City if name in "ac" else None)) for name in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


def end_slowly(client, monkeypatch):
    """The CLI that runs now ends only when the second event is set; the first: it is to end."""
    ending, go_on = threading.Event(), threading.Event()
    transport = client._session.connection.transport
    close = transport.close

    def slowly(timeout):
        ending.set()
        assert go_on.wait(PATIENCE)
        close(timeout)

    monkeypatch.setattr(transport, "close", slowly)
    return ending, go_on


def test_a_request_waits_for_the_next_process(client_of, monkeypatch):
    """control() during a restart is answered by the new CLI, and does not fail."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    ending, go_on = end_slowly(client, monkeypatch)
    turn = client.submit("typed", returns=City)
    assert ending.wait(PATIENCE)
    asking = Background(lambda: client.control("whatever", timeout=PATIENCE))
    assert client.interrupt(1).still_queued == ()  # nothing runs
    go_on.set()
    assert asking.result() == {"life": 1}
    assert turn.result(PATIENCE).data == City("Paris", 2)


@pytest.mark.parametrize("how", ["close", "timeout", "cancel"])
def test_what_ends_during_a_restart(client_of, monkeypatch, how):
    """A restart that is under way holds up neither close() nor a timeout nor cancel()."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    ending, go_on = end_slowly(client, monkeypatch)
    turn = client.submit("typed", returns=City, timeout=0.5 if how == "timeout" else None)
    assert ending.wait(PATIENCE)
    if how == "close":
        closing = Background(client.close)
        go_on.set()
        closing.result()
        with pytest.raises(ClientClosed):
            turn.result(PATIENCE)
        assert len(cities.lives) == 1
        return
    if how == "timeout":
        with pytest.raises(AskTimeout) as caught:
            turn.result(PATIENCE)
        assert not caught.value.sent
    else:
        assert turn.cancel()
    go_on.set()
    assert client.ask("plain again", timeout=PATIENCE) == "said plain again"


def test_a_restart_waits_for_agents_in_the_background(client_of):
    """A process that still works is not ended."""
    started, goes_on = threading.Event(), threading.Event()
    cities = Cities()
    answer = cities.answer

    def with_agent(cli, user, schema):
        answer(cli, user, schema)
        if user["message"]["content"] == "begin":
            cli.say(builders.task_started("t1"))
            started.set()
            assert goes_on.wait(PATIENCE)
            cli.say(builders.task_notification("t1"))
            cli.say(builders.session_state("idle"))

    cities.answer = with_agent
    client = client_of(cities)
    tasks = []
    client.on_task(tasks.append)
    client.ask("begin", timeout=PATIENCE)
    assert started.wait(PATIENCE)
    turn = client.submit("typed", returns=City)
    with pytest.raises(AskTimeout):
        turn.result(0.3)
    assert len(cities.lives) == 1
    goes_on.set()
    assert turn.result(PATIENCE).data == City("Paris", 2)
    assert len(tasks) == 2


# A CLI without forms.


@pytest.mark.parametrize("begun", [False, True])
def test_a_cli_that_knows_no_forms(client_of, begun):
    """UnsupportedByCli for the typed question; plain ones go on, and later typed ones know."""
    cities = Cities(knows_forms=False)
    client = client_of(cities)
    if begun:
        client.ask("plain", timeout=PATIENCE)
    turn = client.submit("typed", returns=City, timeout=PATIENCE)
    other = client.submit("meanwhile", timeout=PATIENCE)
    with pytest.raises(UnsupportedByCli, match="returns="):
        turn.result()
    assert other.result() == "said meanwhile"
    lives = len(cities.lives)
    with pytest.raises(UnsupportedByCli):
        client.ask("typed again", returns=City, timeout=PATIENCE)
    assert len(cities.lives) == lives
    assert client.ask("plain again", timeout=PATIENCE) == "said plain again"


def test_a_client_of_a_form_that_the_cli_does_not_know(client_of):
    """start() and ask() say the same, and nothing is started again and again."""
    cities = Cities(knows_forms=False)
    client = client_of(cities, returns=City)
    with pytest.raises(UnsupportedByCli):
        client.ask("typed", timeout=PATIENCE)
    assert len(cities.lives) == 1


def test_a_schema_that_the_cli_refuses(client_of):
    """What the CLI says about it is in the error; the next question is not affected."""
    cities = Cities()

    def refuse(cli, number):
        if schema_of(cli) is not None:
            cli.print_error("Error: --json-schema is not a valid JSON Schema: unknown keyword x")
            cli.exit(1)
        Cities.play(cities, cli, number)

    cities.play = refuse
    client = client_of(cities)
    with pytest.raises(UsageError, match="unknown keyword x"):
        client.ask("typed", returns=City, timeout=PATIENCE)
    assert client.ask("plain", timeout=PATIENCE) == "said plain"


def test_a_schema_that_the_cli_refuses_without_a_word(client_of):
    """The tool for it is missing: an error that says so, without another try."""
    cities = Cities()

    def answer(cli, user, schema):
        begin(cli, user, PLAIN_TOOLS)
        cli.end_turn(user, "plain text")

    cities.answer = answer
    client = client_of(cities, returns=City)
    with pytest.raises(ReturnsError, match="does not accept"):
        client.ask("typed", timeout=PATIENCE)
    assert len(cities.asked) == 1


# Answers of another form.


def test_a_wrong_answer_is_asked_for_once_more(client_of):
    """The model is told what was wrong; the second answer is the answer, and both are paid."""
    cities = Cities(outputs=[{"name": "Paris"}])
    client = client_of(cities, returns=City)
    answer = client.ask("typed", timeout=PATIENCE)
    assert answer.data == City("Paris", 2)
    assert len(cities.asked) == 2
    assert "people" in cities.asked[1][1]
    assert answer.cost_usd == client.cost_usd
    assert answer.usage == client.usage


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_wrong_answers_are_an_error_in_the_end(client_of, retries):
    """ReturnsError, after returns_retries more tries, says what was wrong and holds what came."""
    wrong = {"name": "Paris", "people": "many"}
    cities = Cities(outputs=[wrong] * 10)
    client = client_of(cities, returns=City, returns_retries=retries)
    with pytest.raises(ReturnsError) as caught:
        client.ask("typed", timeout=PATIENCE)
    assert len(cities.asked) == 1 + retries
    assert any("people" in problem for problem in caught.value.problems)
    assert "people" in str(caught.value)
    assert caught.value.result.structured_output == wrong
    assert caught.value.answer.data is None
    assert caught.value.answer.cost_usd == client.cost_usd


def test_no_data_at_all_is_a_wrong_answer(client_of):
    """A model that answers in plain text is told to give data."""
    cities = Cities(outputs=[None])
    client = client_of(cities, returns=City)
    assert client.ask("typed", timeout=PATIENCE).data == City("Paris", 2)
    assert len(cities.asked) == 2


def test_a_wrong_answer_can_be_returned(client_of):
    """raise_on_error=False: is_error, and no data of a wrong type."""
    cities = Cities(outputs=[{"name": "Paris"}] * 2)
    client = client_of(cities, returns=City)
    answer = client.ask("typed", timeout=PATIENCE, raise_on_error=False)
    assert answer.is_error
    assert answer.data is None


def test_the_budget_counts_for_every_try(client_of):
    """budget_usd is checked before each send, the second try's included."""
    cities = Cities(outputs=[{"name": "Paris"}] * 2)
    client = client_of(cities, returns=City, budget_usd=1e-9)
    with pytest.raises(BudgetExceeded):
        client.ask("typed", timeout=PATIENCE)
    assert len(cities.asked) == 1


def test_a_cli_that_asks_for_data_for_ever_is_stopped(client_of, quick_stop):
    """Reminders without end: the turn is interrupted, asked once more, then an error."""
    cities = Cities()
    interrupted = []

    def insist(cli, user, schema):
        begin(cli, user, FORM_TOOLS)
        while True:
            cli.say(builders.assistant("no"))
            cli.say(
                builders.user("Stop hook feedback:\nYou MUST call the StructuredOutput tool now.")
            )
            message = cli.receive(0.005)
            if message is not None:
                assert message["request"]["subtype"] == "interrupt"
                interrupted.append(message)
                cli.reply(message)
                cli.end_interrupted(user)
                return

    cities.answer = insist
    client = client_of(cities, returns=City)
    with pytest.raises(ReturnsError, match="again and again"):
        client.ask("typed", timeout=PATIENCE)
    assert len(cities.asked) == 2
    assert len(interrupted) >= 2


def test_a_type_that_refuses_the_values(client_of):
    """What __post_init__ raises is told to the model, and to the program."""

    @dataclasses.dataclass
    class Small:
        name: str
        people: int

        def __post_init__(self):
            if self.people > 1:
                raise ValueError("too many people")

    cities = Cities()
    client = client_of(cities, returns=Small)
    with pytest.raises(ReturnsError, match="too many people"):
        client.ask("typed", timeout=PATIENCE)
    assert "too many people" in cities.asked[1][1]


# What a restart must not do.


def test_a_slow_reply_is_waited_for(client_of):
    """A request that is on its way when a form is needed gets its reply from the old process."""
    cities = Cities()
    asked, go_on = threading.Event(), threading.Event()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    reply = cities.lives[0].reply

    def slowly(message, **body):
        asked.set()
        assert go_on.wait(PATIENCE)
        reply(message, **body)

    cities.lives[0].reply = slowly
    asking = Background(lambda: client.control("whatever", timeout=PATIENCE))
    assert asked.wait(PATIENCE)
    turn = client.submit("typed", returns=City, timeout=PATIENCE)
    go_on.set()
    assert asking.result() == {"life": 0}
    assert turn.result().data == City("Paris", 2)


def test_requests_beside_restarts_never_fail(client_of):
    """Whichever process runs just now answers; none is asked that is about to end."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    over, failed = threading.Event(), []

    def ask():
        while not over.is_set():
            try:
                client.control("whatever", timeout=PATIENCE)
            except Exception as error:
                failed.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(10):
            client.ask("x", returns=City if number % 2 else None, timeout=PATIENCE)
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert failed == []


def test_a_transport_that_raises_anything_at_a_restart(client_of):
    """The typed question fails with it, and the next one is not affected."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    make, broken = cities.make, [RuntimeError("no socket left")]

    def sometimes():
        if broken:
            raise broken.pop()
        return make()

    client._session.options = client._session.options.replace(transport=sometimes)
    with pytest.raises(RuntimeError, match="no socket left"):
        client.ask("typed", returns=City, timeout=PATIENCE)
    assert client.ask("plain again", timeout=PATIENCE) == "said plain again"


def test_a_cli_that_dies_when_it_is_to_be_replaced(client_of, monkeypatch):
    """Whoever starts the next one first is the only one to start one."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    held, go_on = end_slowly(client, monkeypatch)
    typed = client.submit("typed", returns=City, timeout=PATIENCE)
    assert held.wait(PATIENCE)
    cities.lives[0].hang_up(1)
    client._session.connection.reader.join(PATIENCE)
    other = client.submit("other", returns=City, timeout=PATIENCE)
    go_on.set()
    assert typed.result().data == other.result().data == City("Paris", 2)
    assert len(cities.lives) == 2


def test_on_crash_raise_and_a_form_that_is_refused(client_of):
    """A form that the CLI does not know is no crash: others go on."""
    cities = Cities(knows_forms=False)
    client = client_of(cities, on_crash="raise")
    client.ask("plain", timeout=PATIENCE)
    with pytest.raises(UnsupportedByCli):
        client.ask("typed", returns=City, timeout=PATIENCE)
    assert client.ask("plain again", timeout=PATIENCE) == "said plain again"


def test_a_lost_conversation_is_lost_once(client_of):
    """The conversation that begins after a loss is resumed like any other."""
    cities = Cities()
    play = cities.play

    def forgetful(cli, number):
        if number == 1:
            cli.print_error(f"No conversation found with session ID: {cli.session_id}")
            cli.exit(1)
        play(cli, number)

    cities.play = forgetful
    client = client_of(cities)
    client.ask("one", timeout=PATIENCE)
    cities.lives[0].hang_up(1)
    client._session.connection.reader.join(PATIENCE)
    client.ask("two", timeout=PATIENCE)
    session = client.session_id
    client.ask("three", returns=City, timeout=PATIENCE)
    assert f"--resume={session}" in cities.lives[3].launch.argv


def test_a_request_after_a_lost_conversation(client_of):
    """A control method begins the new conversation as a question would."""
    cities = Cities()
    play = cities.play

    def forgetful(cli, number):
        if number == 1:
            cli.print_error(f"No conversation found with session ID: {cli.session_id}")
            cli.exit(1)
        play(cli, number)

    cities.play = forgetful
    client = client_of(cities)
    client.ask("one", timeout=PATIENCE)
    cities.lives[0].hang_up(1)
    client._session.connection.reader.join(PATIENCE)
    assert client.control("whatever", timeout=PATIENCE) == {"life": 2}


def test_another_dialect_has_no_forms():
    """It is refused, and the session goes on."""
    for dialect in ("user-message", "callback"):
        client = Client(transport=ScriptedCli, dialect=dialect)
        with client, pytest.raises(UsageError, match="dialect"):
            client.ask("typed", returns=City)


def test_close_has_its_limit_during_a_restart(client_of, monkeypatch):
    """A process that does not end holds close() up no longer than it may."""
    cities = Cities()
    client = client_of(cities)
    client.ask("plain", timeout=PATIENCE)
    ending, go_on = end_slowly(client, monkeypatch)
    killed = []
    transport = client._session.connection.transport
    kill = transport.kill

    def killing():
        killed.append(True)
        kill()
        go_on.set()

    monkeypatch.setattr(transport, "kill", killing)
    turn = client.submit("typed", returns=City)
    assert ending.wait(PATIENCE)
    client.close(timeout=0.5)
    assert killed
    with pytest.raises(ClientClosed):
        turn.result(PATIENCE)


@pytest.mark.parametrize("handled", [False, True])
def test_reading_that_fails_in_a_way_nobody_foresaw(client_of, monkeypatch, handled):
    """Whatever a class of the program's raises, the question has an end, with the reason."""
    cities = Cities()
    client = client_of(
        cities, returns=City, returns_retries=0, **({"on_text": print} if handled else {})
    )

    def read(output):
        raise LookupError("no such row")

    monkeypatch.setattr(client._form, "read", read)
    with pytest.raises(ReturnsError, match="LookupError: no such row"):
        client.ask("typed", timeout=PATIENCE)
    assert client.ask("/cost", timeout=PATIENCE) == "said /cost"
