"""Whether two texts define the same message."""

from __future__ import annotations

import re

_PART = re.compile(r"^={3,}\s*\n\s*(?:MSG|IDL):\s*(\S+)\s*$", re.MULTILINE)


def difference(found: str, expected: str) -> str:
    """The first type that one text defines otherwise than the other; empty if they agree.

    Comments, blank lines, the order of the types and packages before their names do not count.
    """
    have, want = _types(found), _types(expected)
    for name in want:
        if have.get(name) != want[name]:
            return name or "the message itself"
    return ""


def _types(text: str) -> dict[str, tuple[str, ...]]:
    """Lines that define something, by type; "" is the message itself."""
    first, *rest = _PART.split(text)
    return {"": _lines(first)} | {
        name.replace("/msg/", "/"): _lines(body)
        for name, body in zip(rest[::2], rest[1::2], strict=True)
    }


def _lines(text: str) -> tuple[str, ...]:
    bare = (re.sub(r"\s*=\s*", "=", line.split("#")[0]) for line in text.splitlines())
    named = (re.sub(r"^\s*(\w+/)+", "", line).split() for line in bare)
    return tuple(" ".join(words) for words in named if words)
