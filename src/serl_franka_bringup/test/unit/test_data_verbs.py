"""./serl data and ./serl record on the command line: what they print, write and return."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from recorded_episodes import STATE, make_records, write_episode, write_episodes

from serl_franka_bringup import cli, job_command
from serl_franka_bringup.data_picture import names_of
from serl_franka_bringup.progress import Progress
from serl_franka_bringup.session import Ending
from serl_learner.ros_log import read_episode

PCB = str(Path(__file__).resolve().parents[2] / "config" / "pcb.yaml")


def test_check_sums_up_sound_episodes(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 3)
    out = tmp_path / "check.json"
    code = cli.main(["data", "check", str(directory), "--task", PCB, "--state", "--json", str(out)])
    assert code == 0
    text = capsys.readouterr().out
    assert "3 episodes, 3 of them usable" in text
    assert "success        3 of 3" in text
    plain = json.loads(out.read_text())
    assert (plain["steps"], plain["findings"]) == (12, [])


def test_case08_check_names_key_expected_and_found_and_fails(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 2, keys=(*STATE[:-1], "state/force"))
    assert cli.main(["data", "check", str(directory), "--task", PCB, "--state"]) == 1
    text = capsys.readouterr().out
    assert "unusable (2)" in text
    assert "key 'state/force' ((6,), 'float32') is not in the layout" in text
    assert cli.main(["data", "check", str(directory)]) == 0  # they agree with one another


def test_check_and_import_name_a_reward_that_the_task_cannot_learn(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 1)
    records = [replace(r, reward=-0.05 * (not r.last)) for r in make_records(1)]
    write_episode(directory / "n000002.mcap", records)
    task = ["--task", PCB, "--state"]
    taken = tmp_path / "taken"
    for words in (["check"], ["import", "-o", str(taken)]):
        assert cli.main(["data", *words, str(directory), *task]) == 1
        assert "reward -0.05000000074505806 is outside reward_range" in capsys.readouterr().out
    assert not taken.exists()
    assert cli.main(["data", "check", str(directory)]) == 0


def test_check_prints_twenty_of_a_kind_or_all(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 25, keys=STATE[1:])
    words = ["data", "check", str(directory), "--task", PCB, "--state"]
    cli.main(words)
    assert "and 5 more: --all" in capsys.readouterr().out
    cli.main([*words, "--all"])
    assert capsys.readouterr().out.count("is missing") == 25


def test_what_is_no_bag_is_one_line_and_exit_code_2(tmp_path, capsys):
    assert cli.main(["data", "check", str(tmp_path / "nothing")]) == 2
    assert "there is no such file or directory" in capsys.readouterr().out


def test_show_draws_pictures_and_curves(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 2, cameras=("wrist", "side"), size=32)
    out = tmp_path / "pictures" / "episode.png"
    assert cli.main(["data", "show", str(directory), "--episode", "1", "-o", str(out)]) == 0
    assert "episode 1 of session" in capsys.readouterr().out
    with Image.open(out) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > pixels.shape[1] > 1000
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 1000  # the pictures are in it
    assert cli.main(["data", "show", str(directory), "--episode", "2", "-o", str(out)]) == 2
    assert "holds 2 episodes; there is no 2" in capsys.readouterr().err


def test_what_is_shown_of_an_object_is_two_places_and_no_rotation():
    names = names_of("state/object", 6)
    assert names == ("tool to x", "tool to y", "tool to z", "x", "y", "z")
    assert names_of("state/gripper", 2) == ("measured", "commanded")
    assert names_of("state/tcp_pose", 6)[3:] == ("rx", "ry", "rz")
    assert names_of("action", 7)[6] == "gripper"
    assert names_of("state/object", 3) == ("0", "1", "2")


def test_import_takes_bags_once(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 3)
    words = ["data", "import", str(directory), "-o", str(tmp_path / "taken")]
    assert cli.main([*words, "--task", PCB, "--state"]) == 0
    assert "3 episodes written, 0 were there already" in capsys.readouterr().out
    assert cli.main(words) == 0
    assert "0 episodes written, 3 were there already" in capsys.readouterr().out


def test_import_takes_nothing_if_something_is_unusable_unless_told_to(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 3)
    broken = make_records(1)
    del broken[2]
    write_episode(directory / "n000002.mcap", broken)
    taken = tmp_path / "taken"
    words = ["data", "import", str(directory), "-o", str(taken)]
    assert cli.main(words) == 1
    assert not taken.exists()
    assert "a gap: step 3 follows on step 1" in capsys.readouterr().out
    assert cli.main([*words, "--skip-bad"]) == 0
    assert [read_episode(p).number for p in sorted(taken.glob("*.mcap"))] == [0, 2]


@pytest.fixture
def demos(tmp_path) -> Path:
    """A pickle as SERL's record_demo.py writes one, of one episode."""
    rng, transitions = np.random.default_rng(0), []
    seen = [
        {
            "state": rng.normal(size=(1, 19)).astype(np.float32),
            "wrist_1": rng.integers(0, 256, (1, 128, 128, 3), np.uint8),
        }
        for _ in range(4)
    ]
    for step in range(3):
        transitions.append(
            {
                "observations": seen[step],
                "actions": rng.uniform(-1, 1, 6),
                "next_observations": seen[step + 1],
                "rewards": float(step == 2),
                "masks": float(step < 2),
                "dones": step == 2,
            }
        )
    path = tmp_path / "demos.pkl"
    path.write_bytes(pickle.dumps(transitions))
    return path


def test_import_of_a_pickle_by_a_mapping(tmp_path, demos, capsys):
    mapping = tmp_path / "serl.yaml"
    mapping.write_text(
        "observation:\n"
        "  state/tcp_pose: {from: state.tcp_pose, euler: true, scale: 0.05}\n"
        "  state/target_offset: {zeros: 6}\n"
    )
    words = ["data", "import", str(demos), "-o", str(tmp_path / "taken"), "--mapping"]
    assert cli.main([*words, str(mapping), "--map", "image/wrist=wrist_1"]) == 0
    assert "1 episodes written" in capsys.readouterr().out
    (path,) = (tmp_path / "taken").glob("*.mcap")
    episode = read_episode(path)
    keys = {"image/wrist", "state/target_offset", "state/tcp_pose"}
    assert episode.records[0].observation.keys() == keys
    assert cli.main([*words, str(mapping), "--map", "image/wrist=wrist_1"]) == 0
    assert "0 episodes written, 1 were there already" in capsys.readouterr().out


def test_a_corrected_mapping_does_not_keep_what_the_other_gave(tmp_path, demos, capsys):
    words = ["data", "import", str(demos), "--map", "state/tcp_pose=state[4:10]", "-o"]
    assert cli.main([*words, str(tmp_path / "taken")]) == 0
    words[4] = "state/tcp_pose=state.tcp_force"
    capsys.readouterr()
    assert cli.main([*words, str(tmp_path / "taken")]) == 2
    assert "is of the same file by another mapping" in capsys.readouterr().err
    assert cli.main([*words, str(tmp_path / "other")]) == 0
    (first,), (second,) = (
        [read_episode(path).records[0] for path in (tmp_path / name).glob("*.mcap")]
        for name in ("taken", "other")
    )
    assert first.session != second.session
    assert second.observation["state/tcp_pose"].shape == (3,)


def test_an_empty_mapping_and_a_directory_that_cannot_be_written_are_one_line(
    tmp_path, demos, capsys
):
    mapping, out = tmp_path / "serl.yaml", tmp_path / "taken"
    mapping.write_text("observation:\n")
    words = ["data", "import", str(demos), "-o", str(out), "--mapping", str(mapping)]
    assert cli.main(words) == 2
    assert "say with --map KEY=SOURCE" in capsys.readouterr().err
    out.write_text("a file")
    assert cli.main([*words, "--map", "image/wrist=wrist_1"]) == 2
    assert f"{out}: not all is written" in capsys.readouterr().err
    out.unlink()
    out.mkdir()
    (out / "n000001.mcap").write_bytes(b"damaged")
    assert cli.main([*words, "--map", "image/wrist=wrist_1"]) == 2
    assert "n000001.mcap is damaged" in capsys.readouterr().err


def test_case08_a_pickle_that_lacks_a_key_of_the_task_is_refused(tmp_path, demos, capsys):
    words = ["data", "import", str(demos), "-o", str(tmp_path / "taken"), "--task", PCB]
    assert cli.main([*words, "--map", "image/wrist=wrist_1"]) == 1
    assert "key 'image/side' is missing" in capsys.readouterr().out
    assert not (tmp_path / "taken").exists()


def test_a_pickle_without_a_mapping_says_what_it_has(tmp_path, demos, capsys):
    assert cli.main(["data", "import", str(demos), "-o", str(tmp_path / "taken")]) == 2
    error = capsys.readouterr().err
    assert "wrist_1 uint8[1, 128, 128, 3]" in error
    assert "--map KEY=SOURCE" in error


def test_recording_demonstrations_learns_nothing(tmp_path):
    arguments = cli.parse(["record", PCB, "-n", "7", "--state", "--runs", str(tmp_path)])
    plan = job_command.plan_job(arguments, job="record")
    assert plan.directory == tmp_path / "pcb" / "recording"
    found = {node.name: dict(node.parameters) for node in plan.nodes}
    assert found["actor"]["job.kind"] == "record"
    assert found["actor"]["job.demonstrations"] == 7
    assert "job.keep_failures" not in found["actor"]
    learner = found["learner"]
    assert learner["learning"] is False
    assert learner["demonstrations_dir"] == str(tmp_path / "pcb" / "demonstrations")
    assert learner["log_dir"] == str(plan.directory / "episodes")
    assert not {"checkpoint_dir", "features_dir"} & learner.keys()
    assert "metrics_writer" not in found


def test_failures_lie_below_the_successes(tmp_path):
    words = ["record", PCB, "--failures", "-o", str(tmp_path / "demos"), "--runs", str(tmp_path)]
    plan = job_command.plan_job(cli.parse(words), job="record")
    found = {node.name: dict(node.parameters) for node in plan.nodes}
    assert found["actor"]["job.keep_failures"] is True
    assert found["learner"]["demonstrations_dir"] == str(tmp_path / "demos")
    assert found["learner"]["log_dir"] == str(tmp_path / "demos" / "failures")


@pytest.fixture
def records(monkeypatch):
    """In place of the processes of a session: one demonstration with this number."""

    def session(number: int):
        def record(nodes, directory, **_):
            demos = next(n for n in nodes if n.name == "learner").parameters["demonstrations_dir"]
            Path(demos).mkdir(parents=True, exist_ok=True)
            write_episode(Path(demos) / f"n{number}.mcap", make_records(number))
            result = {"demonstrations": 1, "episodes": 1}
            (directory.path / "result.json").write_text(json.dumps(result))
            return Ending("done", "", Progress(started_at=0.0), 1.0)

        monkeypatch.setattr(job_command, "run_session", record)

    return session


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("out", ["", "my demos"])
def test_recording_afresh_sets_the_old_demonstrations_aside(tmp_path, records, capsys, out):
    root = tmp_path / "runs"
    demos = tmp_path / out if out else root / "pcb" / "demonstrations"
    words = ["record", PCB, "--state", "--runs", str(root), *(["-o", str(demos)] if out else [])]
    for number, more in enumerate(([], [], ["--fresh"])):
        records(number)
        assert cli.main([*words, *more]) == 0
    assert names(demos) == ["metadata.yaml", "n2.mcap"]
    (aside,) = demos.parent.glob(f"{demos.name}.*")
    assert names(aside) == ["metadata.yaml", "n0.mcap", "n1.mcap"]
    said = capsys.readouterr().out
    assert f"demonstrations of before are kept in {aside}" in said
    learn = f"learn from it  ./serl run {PCB} --state --runs {root}"
    assert learn + (f" 'demonstrations:={demos}'\n" if out else "\n") in said


def test_recording_afresh_into_a_directory_that_holds_more_is_refused(tmp_path, records, capsys):
    records(0)
    words = ["record", PCB, "--state", "--runs", str(tmp_path), "-o", str(tmp_path)]
    assert cli.main(words) == 0
    assert cli.main([*words, "--fresh"]) == 2
    assert f"--fresh would move {tmp_path} aside" in capsys.readouterr().err
    assert (tmp_path / "n0.mcap").exists()


def test_the_index_holds_what_a_run_recorded(tmp_path, records):
    words = ["record", PCB, "--state", "--runs", str(tmp_path)]
    records(0)
    assert cli.main(words) == 0
    records(1)
    plan = job_command.plan_job(cli.parse(["run", *words[1:]]))
    job_command.run_job(plan, [], None, lambda result, plan: [])
    index = (tmp_path / "pcb" / "demonstrations" / "metadata.yaml").read_text()
    assert "n0.mcap" in index
    assert "n1.mcap" in index
