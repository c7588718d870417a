"""Chooses a ROS domain that no other run on this machine uses."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path

DOMAINS = range(1, 102)  # above 101 DDS ports meet Linux' ephemeral ports; 0 is everybody's
_PORT_BASE, _PORTS_PER_DOMAIN = 7400, 250  # RTPS well-known ports


class Domain:
    """A ROS domain id, claimed until `close` when it was chosen here.

    The user's ROS_DOMAIN_ID wins. Otherwise ids are tried from one given by the hash of
    `key`, skipping those that another run claims (an abstract socket of that name exists) or
    that any DDS participant listens on.
    """

    def __init__(self, key: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._claim: socket.socket | None = None
        given = environment.get("ROS_DOMAIN_ID", "").strip()
        self.chosen_here = not given
        self.id = int(given) if given else self._choose(key)

    def close(self) -> None:
        """Lets other runs use the id."""
        if self._claim is not None:
            self._claim.close()

    def _choose(self, key: Path) -> int:
        start = int(hashlib.sha256(str(key.resolve()).encode()).hexdigest(), 16)
        for offset in range(len(DOMAINS)):
            domain = DOMAINS[(start + offset) % len(DOMAINS)]
            claim = _claim(domain)
            if claim is not None and not _is_listening(domain):
                self._claim = claim
                return domain
            if claim is not None:
                claim.close()
        raise RuntimeError(f"no free ROS domain in {DOMAINS.start}..{DOMAINS.stop - 1}")


def _claim(domain: int) -> socket.socket | None:
    """A socket whose existence marks the domain as taken; None if another has it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0serl-ros-domain-{domain}")
    except OSError:
        claim.close()
        return None
    return claim


def _is_listening(domain: int) -> bool:
    """Whether a DDS participant has the domain's discovery port."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.bind(("", _PORT_BASE + _PORTS_PER_DOMAIN * domain))
    except OSError:
        return True
    finally:
        probe.close()
    return False
