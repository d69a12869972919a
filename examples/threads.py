"""
Many threads, one client: each gets its own answer, whoever asks first.

Questions of one client are asked one after the other, because they are one conversation.
For answers at the same time, open one client for each conversation.

    python examples/threads.py            asks Claude
    python examples/threads.py --offline  asks the built-in stand-in, which echoes
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import claude_sync
from claude_sync.testing import StandIn

cli = StandIn().command if "--offline" in sys.argv else None
CITIES = ("Rome", "Oslo", "Lima")


def river(city):
    """Ask in a conversation of its own."""
    return claude_sync.ask(f"One word: which river is near {city}?", cli=cli, timeout=120)


with claude_sync.Client(cli=cli) as client:
    # Threads that ask the same client wait in line.
    answers = {}

    def ask_about(city):
        answers[city] = client.ask(f"One word: which country is {city} in?")

    threads = [threading.Thread(target=ask_about, args=(city,)) for city in CITIES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for city in CITIES:
        print(f"{city}: {answers[city]}")

    # One thread can ask several things at once, too: a Turn is a Future.
    turns = [client.submit(f"One word for {city}?", timeout=120) for city in CITIES]
    for turn in as_completed(turns):
        print(f"{turn.prompt} {turn.result()}")

# Conversations of their own run side by side.
with ThreadPoolExecutor() as pool:
    for city, answer in zip(CITIES, pool.map(river, CITIES)):
        print(f"{city}: {answer}")
