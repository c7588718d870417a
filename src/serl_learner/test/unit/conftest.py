"""The tests compile many small networks and run each a few times: XLA need not optimise them."""

from __future__ import annotations

import os

FLAGS = "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false"

# Before anything imports JAX: XLA reads its flags once.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()

# Where a compilation cache is set up, the short compilations of these tests are worth keeping too.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import pytest  # noqa: E402
from session_files import Clock, Files, Sessions  # noqa: E402


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
