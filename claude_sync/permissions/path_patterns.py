"""
Names of files with wildcards, compared without ever going back.

A path comes from the model and may be written to be slow to compare. So neither
names nor paths are compared with regular expressions: each character, and each
name, moves a set of reached places in the pattern, and is looked at once.
"""

from __future__ import annotations

import re
from typing import Dict, List, Pattern, Sequence, Set, Tuple

__all__ = ["PathPattern"]


class NamePattern:
    """One name with wildcards. Each bit of a state is a place in it that can be reached."""

    def __init__(self, name: str) -> None:
        """*name* as written; raises ``re.error`` where a set makes no sense."""
        self.stars = 0
        self.any = 0
        self.literals: Dict[str, int] = {}
        self.sets: List[Tuple[Pattern[str], int]] = []
        place = position = 0
        while position < len(name):
            character = name[position]
            bit = 1 << place
            position += 1
            place += 1
            if character == "*":
                self.stars |= bit
            elif character == "?":
                self.any |= bit
            elif character == "[" and name.find("]", position + 1) > 0:
                end = name.find("]", position + 1)
                self.sets.append((character_set(name[position:end]), bit))
                position = end + 1
            else:
                if character == "\\" and position < len(name):
                    character = name[position]
                    position += 1
                self.literals[character] = self.literals.get(character, 0) | bit
        self.length = place

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        state = self.passed(1)
        for character in name:
            here = self.any | self.literals.get(character, 0)
            for members, bit in self.sets:
                if state & bit and members.match(character):
                    here |= bit
            state = self.passed((state & here) << 1 | state & self.stars)
            if not state:
                return False
        return bool(state >> self.length & 1)

    def passed(self, state: int) -> int:
        """The places reached as well because a star may stand for nothing."""
        while True:
            further = state | (state & self.stars) << 1
            if further == state:
                return state
            state = further


class PathPattern:
    """Names below a folder, where ``**`` stands for any number of them."""

    def __init__(self, names: Sequence[str], below: str) -> None:
        """
        Args:
            names: The names of the pattern.
            below: Whether what lies below a path that matches does so as well:
                "no", "too", or "only" that.

        """
        self.names = [None if name == "**" else NamePattern(name) for name in names]
        self.below = below

    def matches(self, path: str) -> bool:
        """Whether a path matches: names with a slash before each."""
        names = [name for name in path.split("/") if name]
        last = len(self.names)
        reached = self.passed({0})
        for name in names:
            following: Set[int] = set()
            for place in reached:
                if place >= last:
                    if self.below != "no":
                        following.add(last + 1)
                    continue
                pattern = self.names[place]
                if pattern is None:
                    following.add(place)
                elif pattern.matches(name):
                    following.add(place + 1)
            reached = self.passed(following)
            if not reached:
                return False
        return last + 1 in reached or (last in reached and self.below != "only")

    def passed(self, places: Set[int]) -> Set[int]:
        """The places reached as well because ``**`` may stand for no name at all."""
        for place in range(len(self.names)):
            if place in places and self.names[place] is None:
                places.add(place + 1)
        return places


def character_set(members: str) -> Pattern[str]:
    """What stands in square brackets."""
    inverted = members[:1] in ("!", "^")
    members = re.sub(r"([\\\[\]^&~|])", r"\\\1", members[1:] if inverted else members)
    return re.compile(f"[{'^' if inverted else ''}{members}]", re.DOTALL)
