"""Whole runs of many processes are started here and held to seconds: one test after another."""

from __future__ import annotations

import pytest


@pytest.hookimpl(optionalhook=True)  # pytest-xdist need not be installed
def pytest_xdist_auto_num_workers() -> int:
    """No processes beside that of pytest, whatever `./serl test` asks for."""
    return 0
