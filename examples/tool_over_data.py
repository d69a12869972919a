"""
Claude answers questions about data that only this program has.

    python examples/tool_over_data.py "Which city grew most?"
    python examples/tool_over_data.py --offline         with the built-in stand-in
"""

import sys
from typing import Dict, List

import claude_sync
from claude_sync.testing import StandIn

POPULATION = {
    "Oslo": {2000: 507_467, 2010: 586_860, 2020: 693_494},
    "Lima": {2000: 7_294_000, 2010: 8_920_000, 2020: 10_719_000},
}


def cities() -> List[str]:
    """The cities there are figures of."""
    return sorted(POPULATION)


def population(city: str, since: int = 2000) -> Dict[int, int]:
    """
    How many people lived in a city, by year.

    Args:
        city: Its English name, as ``cities`` tells it.
        since: Leave out earlier years.
    """
    if city not in POPULATION:
        raise claude_sync.ToolError(f"no figures of {city}; there are {', '.join(cities())}")
    return {year: count for year, count in POPULATION[city].items() if year >= since}


OFFLINE = "--offline" in sys.argv
prompt = " ".join(word for word in sys.argv[1:] if word != "--offline") or "Which city grew most?"
if OFFLINE:
    # What stands in double brackets makes the stand-in call a tool.
    prompt = (
        '[[tool mcp__claude_sync__population {"city": "Oslo", "since": 2010}]] '
        '[[tool mcp__claude_sync__population {"city": "Atlantis"}]]'
    )

try:
    with claude_sync.Client(
        tools=[cities, population], cli=StandIn().command if OFFLINE else None
    ) as client:
        print(client.ask(prompt, timeout=120))
except claude_sync.ClaudeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
