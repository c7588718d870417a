"""`start` runs a `serl` command line; nothing of it outlives the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serl_command import Command, node_processes, start_command, wait_for, write_tiny_task


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    started: list[Command] = []

    def start(*words: str, **environment: str) -> Command:
        output = tmp_path / f"output{len(started)}.txt"
        started.append(start_command(tmp_path, output, *words, **environment))
        return started[-1]

    write_tiny_task(tmp_path / "tiny.yaml")
    yield start
    for command in started:
        command.process.kill()
        command.process.wait()
    wait_for(lambda: not node_processes(tmp_path), "the nodes to die with their parent")
