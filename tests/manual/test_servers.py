"""The web servers of the documents answer requests, with the stand-in CLI."""

import http.client
import importlib.util
import re
import threading

import pytest
from executables import ROOT, executable
from patience import PATIENCE, wait_until

import claude_sync
from claude_sync.testing import StandIn

pytestmark = pytest.mark.everything

PAGE = (ROOT / "docs" / "howto" / "servers.rst").read_text("utf-8")
BLOCK = re.compile(r"^\.\. code-block:: py\n\n((?:    .*\n|\n)+)", re.MULTILINE)
SUMMARY = "Summarize this text in one sentence."


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Run the block of the page that imports a framework; the pool in it is closed."""
    pools = []

    def run(framework):
        for name in ("httpx", framework):  # what the test clients need, and what is tested
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"needs {name}: pip install {name}")
        monkeypatch.setenv("CLAUDE_CODE_PATH", executable(tmp_path, pace=0.001))
        (code,) = [each for each in BLOCK.findall(PAGE) if f"from {framework}" in each]
        names = {"__name__": "program"}
        exec(compile(re.sub("^    ", "", code, flags=re.MULTILINE), "servers.rst", "exec"), names)
        pools.append(names["pool"])
        return names

    yield run
    for pool in pools:
        pool.close()


def test_flask(program):
    """It answers, and says in one sentence what went wrong."""
    names = program("flask")
    browser = names["app"].test_client()
    reply = browser.post("/summary", data="a long text").json
    assert SUMMARY in reply["summary"] and "a long text" in reply["summary"]
    names["pool"].close()
    failed = browser.post("/summary", data="a long text")
    assert (failed.status_code, failed.json) == (503, {"error": "The conversation is closed."})


def test_django(program):
    """A view that is a plain function."""
    from django.conf import settings
    from django.test import RequestFactory

    if not settings.configured:
        settings.configure(DEFAULT_CHARSET="utf-8", ALLOWED_HOSTS=["testserver"])
    view = program("django")["summary"]
    request = RequestFactory().post("/", data="a long text", content_type="text/plain")
    assert b"a long text" in view(request).content


@pytest.fixture
def address(program):
    """The FastAPI program behind a real server, and its pool."""
    import uvicorn

    names = program("fastapi")
    server = uvicorn.Server(uvicorn.Config(names["app"], port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    yield server.servers[0].sockets[0].getsockname()[1], names["pool"]
    server.should_exit = True
    thread.join(PATIENCE)


def post(port, path, text):
    """The reply to a request, of which nothing has been read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", path, text, {"Content-Type": "text/plain"})
    return connection, connection.getresponse()


def test_fastapi(address):
    """It answers as a whole and in pieces."""
    port, _ = address
    for path in ("/summary", "/story"):
        connection, reply = post(port, path, "a long text")
        said = reply.read().decode()
        connection.close()
        assert reply.status == 200 and "a long text" in said


def test_a_browser_that_leaves_interrupts_the_turn(address):
    """Its client goes back to the pool, minutes before the story would have ended."""
    port, pool = address
    for _ in range(4):  # as many as the pool has
        connection, reply = post(port, "/story", "[[pace 1]] " + "word " * 300)
        assert reply.read(4) == b"echo"
        reply.close()
        connection.close()
    assert pool.ask("free?", timeout=PATIENCE) == "echo: free?"


def test_conversations_of_users_go_on():
    """Clients of idle users are closed, and their conversations resumed."""
    code = next(each for each in re.findall(r"((?:    .*\n|\n)+)", PAGE) if "close_idle" in each)
    names = {"claude_sync": claude_sync}
    body = re.sub("^    ", "", code, flags=re.MULTILINE).partition("\nconversations = ")[0]
    exec(compile(body, "servers.rst", "exec"), names)
    talks = names["Conversations"](cli=StandIn().command)
    first = talks.ask("ada", "Hello")
    talks.close_idle(seconds=0)
    assert talks.clients == {}
    assert talks.ask("ada", "And now?").session_id == first.session_id
    talks.close_idle(seconds=0)  # in the background; the test ends when its threads have
