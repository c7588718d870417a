"""What is exported can be read back: LeRobot's tables and videos, RLDS's steps."""

from __future__ import annotations

import json
from dataclasses import replace

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from recorded_episodes import STATE, make_records, write_episode, write_episodes

from serl_franka_bringup import cli
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.data import lerobot_videos
from serl_franka_bringup.data.export import FORMATS, write_dataset
from serl_franka_bringup.data.lerobot_stats import PictureStatistics, of_numbers
from serl_learner.episodes import is_demonstration, stretch
from serl_learner.ros_log import encode_episode, read_episode
from serl_learner.types import Relabel

CAMERAS = ("side", "wrist")
SIZE = 32


@pytest.fixture
def episodes():
    """Three of different lengths; pictures that H.264 keeps nearly as they are."""
    made = []
    for number in range(3):
        records = make_records(number, steps=4 + number, success=number != 1)
        for index, record in enumerate(records):
            pictures = {
                f"image/{camera}": smooth(10 * number + index, shade)
                for shade, camera in enumerate(CAMERAS)
            }
            records[index] = replace(record, observation=record.observation | pictures)
        made.append(records)
    return made


def smooth(number, shade):
    """A picture with a slope, another for each number."""
    ramp = np.linspace(0, 120, SIZE)[:, None, None] + np.linspace(0, 60, SIZE)[None, :, None]
    return (ramp + np.array([5 * number, 40 * shade, 20.0])).clip(0, 255).astype(np.uint8)


def steps_of(records):
    return [record for record in records if record.action is not None]


def frames_of(path):
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        return [(frame.time, frame.to_ndarray(format="rgb24")) for frame in file.decode(stream)]


def test_lerobot_tables_hold_every_step(tmp_path, episodes):
    write_dataset("lerobot", tmp_path, episodes, "insert the connector")
    info = json.loads((tmp_path / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"]) == ("v3.0", 10)
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (3, 15, 1)
    assert info["splits"] == {"train": "0:3"}
    path = info["data_path"].format(chunk_index=0, file_index=0)
    table = pq.read_table(tmp_path / path).to_pydict()
    steps = [record for records in episodes for record in steps_of(records)]
    states = [np.concatenate([r.observation[k] for k in sorted(STATE)]) for r in steps]
    np.testing.assert_array_equal(np.float32(table["observation.state"]), states)
    np.testing.assert_array_equal(np.float32(table["action"]), [r.action for r in steps])
    assert table["next.reward"] == [r.reward for r in steps]
    assert table["next.done"] == [r.terminated or r.truncated for r in steps]
    assert table["next.success"] == [r.terminated for r in steps]
    assert table["index"] == list(range(15))
    assert table["episode_index"] == [0] * 4 + [1] * 5 + [2] * 6
    assert table["frame_index"] == [*range(4), *range(5), *range(6)]
    np.testing.assert_allclose(table["timestamp"], np.array(table["frame_index"]) / 10, rtol=1e-6)
    assert set(table) | {"observation.images.side", "observation.images.wrist"} == set(
        info["features"]
    )
    state = info["features"]["observation.state"]
    assert (state["shape"], state["names"][:2]) == ([30], ["target_offset.0", "target_offset.1"])


def test_lerobot_says_where_each_episode_begins_in_tables_and_videos(tmp_path, episodes):
    write_dataset("lerobot", tmp_path, episodes, "insert the connector")
    info = json.loads((tmp_path / "meta/info.json").read_text())
    rows = pq.read_table(tmp_path / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [row["length"] for row in rows] == [4, 5, 6]
    assert [(r["dataset_from_index"], r["dataset_to_index"]) for r in rows] == [
        (0, 4),
        (4, 9),
        (9, 15),
    ]
    assert all(row["tasks"] == ["insert the connector"] for row in rows)
    for camera in CAMERAS:
        feature = f"observation.images.{camera}"
        name = info["video_path"].format(video_key=feature, chunk_index=0, file_index=0)
        frames = frames_of(tmp_path / name)
        assert len(frames) == 15
        for row, records in zip(rows, episodes, strict=True):
            assert row[f"videos/{feature}/file_index"] == 0
            begin = row[f"videos/{feature}/from_timestamp"]
            for index, record in enumerate(steps_of(records)):
                time, picture = frames[round(10 * begin) + index]
                assert time == pytest.approx(begin + index / 10)  # LeRobot asks by time
                expected = record.observation[f"image/{camera}"].astype(int)
                assert np.abs(picture - expected).mean() < 3.0
            assert row[f"videos/{feature}/to_timestamp"] == pytest.approx(
                begin + row["length"] / 10
            )
        shape = info["features"][feature]["shape"]
        assert (shape, info["features"][feature]["dtype"]) == ([SIZE, SIZE, 3], "video")


def test_lerobot_tasks_are_a_table_with_an_index_for_pandas(tmp_path, episodes):
    write_dataset("lerobot", tmp_path, episodes, "insert the connector")
    table = pq.read_table(tmp_path / "meta/tasks.parquet")
    assert table.to_pydict() == {"task_index": [0], "task": ["insert the connector"]}
    assert json.loads(table.schema.metadata[b"pandas"])["index_columns"] == ["task"]


def test_lerobot_statistics(tmp_path, episodes):
    write_dataset("lerobot", tmp_path, episodes, "insert the connector")
    found = json.loads((tmp_path / "meta/stats.json").read_text())
    actions = np.array([r.action for records in episodes for r in steps_of(records)])
    np.testing.assert_allclose(found["action"]["mean"], actions.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found["action"]["q99"], np.quantile(actions, 0.99, axis=0))
    assert found["action"]["count"] == [15]
    pictures = np.array(
        [r.observation["image/side"] for records in episodes for r in steps_of(records)]
    )
    side = {k: np.array(v) for k, v in found["observation.images.side"].items()}
    assert side["mean"].shape == (3, 1, 1)
    np.testing.assert_allclose(side["mean"].ravel(), pictures.mean(axis=(0, 1, 2)) / 255)
    np.testing.assert_allclose(side["std"].ravel(), pictures.std(axis=(0, 1, 2)) / 255)
    np.testing.assert_allclose(side["min"].ravel(), pictures.min(axis=(0, 1, 2)) / 255)
    np.testing.assert_allclose(side["max"].ravel(), pictures.max(axis=(0, 1, 2)) / 255)
    median = np.quantile(pictures, 0.5, axis=(0, 1, 2), method="inverted_cdf") / 255
    np.testing.assert_allclose(side["q50"].ravel(), median)


def test_statistics_of_one_frame():
    assert of_numbers(np.array([[1.0, 2.0]]))["q01"].tolist() == [1.0, 2.0]
    pictures = PictureStatistics()
    pictures.add(np.full((2, 2, 3), 51, np.uint8))
    assert pictures.values()["q90"].ravel().tolist() == [0.2] * 3
    assert pictures.values()["std"].ravel().tolist() == [0.0] * 3


def test_a_large_video_goes_on_in_a_new_file(tmp_path, episodes, monkeypatch):
    monkeypatch.setattr(lerobot_videos, "FRAMES", 5)
    monkeypatch.setattr(lerobot_videos._Stream, "frames", 5)
    write_dataset("lerobot", tmp_path, episodes, "x")
    rows = pq.read_table(tmp_path / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    feature = "observation.images.side"
    places = [
        (row[f"videos/{feature}/file_index"], row[f"videos/{feature}/from_timestamp"])
        for row in rows
    ]
    assert places == [(0, 0.0), (0, 0.4), (1, 0.0)]
    folder = tmp_path / "videos" / feature / "chunk-000"
    assert [len(frames_of(path)) for path in sorted(folder.iterdir())] == [9, 6]


def test_without_cameras_there_is_no_video(tmp_path):
    write_dataset("lerobot", tmp_path, [make_records()], "x")
    assert json.loads((tmp_path / "meta/info.json").read_text())["video_path"] is None
    assert not (tmp_path / "videos").exists()


def test_pictures_of_odd_size_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="pictures of 33 x 33 pixels; H.264 needs even sizes"):
        write_dataset("lerobot", tmp_path, [make_records(cameras=("side",), size=33)], "x")


def test_rlds_steps_hold_everything_bit_by_bit(tmp_path, episodes):
    write_dataset("rlds", tmp_path, episodes, "insert the connector")
    info = json.loads((tmp_path / "dataset.json").read_text())
    assert (info["episodes"], info["steps"]) == (3, 18)
    assert info["features"]["observation/image/side"] == {
        "dtype": "uint8",
        "shape": [SIZE, SIZE, 3],
    }
    for number, records in enumerate(episodes):
        with np.load(tmp_path / f"episode_{number:06d}.npz", allow_pickle=False) as steps:
            for key in records[0].observation:
                expected = np.stack([record.observation[key] for record in records])
                assert steps[f"observation/{key}"].tobytes() == expected.tobytes()
            np.testing.assert_array_equal(
                steps["action"][:-1], [record.action for record in steps_of(records)]
            )
            assert not steps["action"][-1].any()
            success = number != 1
            count = len(records)
            assert steps["reward"].tolist() == [0.0] * (count - 2) + [float(success), 0.0]
            assert steps["discount"].tolist() == [1.0] * (count - 2) + [1.0 - success, 1.0]
            assert steps["is_first"].tolist() == [True] + [False] * (count - 1)
            assert steps["is_last"].tolist() == [False] * (count - 1) + [True]
            assert steps["is_terminal"].tolist() == [False] * (count - 1) + [success]


def test_export_on_the_command_line(tmp_path, capsys):
    directory = write_episodes(tmp_path / "bags", 2)
    write_episode(directory / "n000003.mcap", make_records(2, success=False))
    out = tmp_path / "out"
    words = ["data", "export", str(directory), "--format", "rlds", "-o", str(out), "--successes"]
    assert cli.main(words) == 0
    assert "2 episodes, 8 steps (rlds)" in capsys.readouterr().out
    assert cli.main(words) == 2
    assert "is not empty: nothing is written over" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_that_fails_midway_leaves_nothing_behind(tmp_path, episodes, form):
    out = tmp_path / "out"
    out.mkdir()
    end = episodes[1][-1]
    cut = {key: value[:5] for key, value in end.observation.items()}
    other = [episodes[0], [*episodes[1][:-2], replace(episodes[1][-2], observation=cut), end]]
    with pytest.raises(ConfigError, match=f"{out} is not written"):
        write_dataset(form, out, other, "x")
    assert list(tmp_path.rglob("*")) == [out]
    write_dataset(form, out, episodes, "x")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path, capsys):
    bags = write_episodes(tmp_path / "bags", 1)
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "out"
    assert cli.main(["data", "export", str(bags), "--format", "rlds", "-o", str(out)]) == 2
    assert f"{out} is not written: " in capsys.readouterr().err


@pytest.fixture(params=["in the next episode's file", "in a file of its own", "in relabels/"])
def vetoed(tmp_path, request):
    """A log of two successes, the first of which was taken back, where the log keeps that."""
    records = make_records(0, steps=4)
    following = [replace(r, seq=r.seq - 94) for r in make_records(1, steps=4)]
    veto = Relabel(records[0].session, 5, 3, 3, 0.0, False)
    files = {
        "in the next episode's file": {"n2": [veto, *following]},
        "in a file of its own": {"n2-seq5": [veto], "n3": following},
        "in relabels/": {"n2": following, "relabels/n3-seq5": [veto]},
    }[request.param]
    log = tmp_path / "log"
    (log / "relabels").mkdir(parents=True)
    for name, entries in {"n1": records, **files}.items():
        content = encode_episode(stretch("actor", records[0].session, entries))
        (log / f"{name}.mcap").write_bytes(content)
    return log


def test_late_verdicts_are_in_what_is_exported(tmp_path, vetoed):
    out = tmp_path / "out"
    words = ["data", "export", str(vetoed), "--format", "rlds", "-o", str(out)]
    assert cli.main(words) == 0
    with np.load(out / "episode_000000.npz") as steps:
        assert steps["reward"].tolist() == [0.0] * 5
        assert not steps["is_terminal"].any()
    with np.load(out / "episode_000001.npz") as steps:
        assert steps["reward"].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_a_success_that_was_taken_back_is_none(tmp_path, vetoed, capsys):
    out = tmp_path / "out"
    words = ["data", "export", str(vetoed), "--format", "lerobot", "-o"]
    assert cli.main([*words, str(out)]) == 0
    table = pq.read_table(out / "data/chunk-000/file-000.parquet").to_pydict()
    assert table["next.success"] == [False] * 7 + [True]
    assert cli.main([*words, str(tmp_path / "successes"), "--successes"]) == 0
    assert "1 episodes, 4 steps" in capsys.readouterr().out
    assert cli.main(["data", "check", str(vetoed)]) == 0
    assert "success        1 of 2" in capsys.readouterr().out


def test_a_success_that_was_taken_back_comes_in_as_none(tmp_path, vetoed):
    assert cli.main(["data", "import", str(vetoed), "-o", str(tmp_path / "taken")]) == 0
    paths = sorted((tmp_path / "taken").glob("*.mcap"))
    assert [is_demonstration(read_episode(path)) for path in paths] == [False, True]
