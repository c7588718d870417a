"""The tests compile many small networks and run each a few times: XLA need not optimise them."""

from __future__ import annotations

import os

FLAGS = "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false"

# Before anything imports JAX: XLA reads its flags once.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()

# Where a compilation cache is set up, the short compilations of these tests are worth keeping too.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import pytest  # noqa: E402
from image_toy import tiny_trunk  # noqa: E402
from session_files import Clock, Files, Sessions  # noqa: E402

from serl_learner import frame_encoder  # noqa: E402
from serl_learner.frame_encoder import FrameEncoder  # noqa: E402


@pytest.fixture
def files():
    """Episodes in memory."""
    return Files()


@pytest.fixture
def clock():
    """Steady time that goes on when told."""
    return Clock()


@pytest.fixture
def make(tmp_path, files, clock):
    """Makes sessions over the same directories, as restarts do."""
    return Sessions(tmp_path, files, clock)


@pytest.fixture
def tiny(monkeypatch):
    """The frozen network is one that takes no time; the fixture's value counts the records that
    were encoded."""
    encoded = []
    trunk, encode = tiny_trunk(), FrameEncoder._encoded
    monkeypatch.setattr(frame_encoder, "_load", lambda config: trunk if config.frozen else None)

    def counted(self, record):
        encoded.append(record.seq)
        return encode(self, record)

    monkeypatch.setattr(FrameEncoder, "_encoded", counted)
    return encoded
