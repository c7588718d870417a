"""An easy insertion must be learned: simulation, expert, environment, job and learner as one."""

from __future__ import annotations

from pathlib import Path

from serl_franka_bringup import graph, in_process
from serl_franka_bringup.simulation_client import load_setup

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
EASY = {  # a wide socket, nearby starts, small networks
    "sim": {"scene.clearance": 0.002, "scene.in_hand_offset_m": 0.0},
    "actor": {
        "task.random_xy": 0.01,
        "task.random_yaw": 0.05,
        "task.start_height": 0.02,
        "task.episode_steps": 60,
        "job.evaluation_episodes": 25,
    },
    "learner": {
        "agent.critics": 2,
        "agent.hidden": (64, 64),
        "batch_size": 64,
        "utd_ratio": 4,
        "training_starts": 100,
    },
}


def test_an_easy_insertion_is_learned():
    """Three seeds reached 25 of 25 with either policy; a policy that was not trained reaches 0."""
    arguments = graph.Arguments(seed=0, observation="state", demos=8, max_steps=2000)
    result = in_process.train(load_setup(str(PCB), arguments, EASY))
    assert result["points"][1]["success_last_20"] == 0.0  # before training
    assert result["success_sampled"] >= 0.9
    assert result["success_deterministic"] >= 0.8
    assert result["env_steps"] < 2060
