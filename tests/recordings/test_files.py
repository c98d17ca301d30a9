"""Files that were cut off, damaged, or are written by two; disks that are full; versions that differ."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import batchenv
from batchenv.recordings import DamagedRecording, RecordingError, ReplayMismatch
from batchenv.recordings import header as headers
from batchenv.recordings.file import Writer
from helpers.recordings import Kept


def written(path, steps=300, lanes=3, **keywords):
    """A recording of CartPole, and what it returned."""
    env = batchenv.make("CartPole-v1", lanes)
    kept = Kept(env)
    with batchenv.record(env, path, **{"key_frames": 64, **keywords}):
        kept.reset(seed=0)
        kept.steps(steps)
    return kept


def run(program, *arguments, **keywords):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        **keywords,
    )


# ---- cut off -----------------------------------------------------------------------------------------------------


def test_every_length_of_a_file_opens_or_says_why(tmp_path):
    kept = written(tmp_path / "run.rec")
    data = (tmp_path / "run.rec").read_bytes()
    with batchenv.replay(tmp_path / "run.rec") as whole:
        ends = [entry.block.end for entry in whole._contents.entries]
    seen = set()
    for size in {*range(0, len(data), 97), *ends, *(end - 1 for end in ends), *(end + 1 for end in ends)}:
        (tmp_path / "cut.rec").write_bytes(data[:size])
        try:
            recording = batchenv.replay(tmp_path / "cut.rec")
        except RecordingError as problem:
            assert "does not begin as one" in str(problem) or "nothing was recorded" in str(problem)
            assert size < ends[0]
            continue
        with recording:
            assert not recording.complete
            if recording._contents.entries:
                assert recording._contents.entries[-1].block.end == size - recording.left_out
                assert size - recording.left_out == max(end for end in ends if end <= size)
            steps = recording.steps // 3
            if steps and steps not in seen:
                seen.add(steps)
                kept.check(recording, 0, steps)
                recording.verify()
    assert len(seen) >= 3


def test_a_killed_writer_leaves_what_was_flushed(tmp_path):
    program = """
        import os, signal, sys, numpy as np, batchenv
        env = batchenv.make("LunarLander-v3", 3)
        recorder = batchenv.record(env, sys.argv[1])
        env.reset(seed=0)
        rollout = env.rollout(200, policy="random", seed=1)
        recorder.flush()
        np.save(sys.argv[2], rollout.observations)
        env.rollout(50, policy="random")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = run(program, tmp_path / "run.rec", tmp_path / "seen.npy")
    assert done.returncode == -signal.SIGKILL
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert not recording.complete
        assert recording.lengths.min() >= 200
        assert "cut off" in repr(recording)
        assert np.array_equal(recording.window(0, 200).observations, np.load(tmp_path / "seen.npy"))
        recording.verify()


def test_blocks_are_written_after_some_seconds(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    recorder = batchenv.record(env, tmp_path / "run.rec", flush_seconds=0.05)
    env.reset(seed=0)
    env.step([0, 1])
    time.sleep(0.1)
    env.step([0, 1])
    with batchenv.replay(tmp_path / "run.rec") as recording:  # while it is being written
        assert (recording.complete, recording.steps) == (False, 4)
        assert recording.verify() == 4
    recorder.close()


def test_a_recorder_that_is_forgotten(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    batchenv.record(env, tmp_path / "run.rec")
    env.reset(seed=0)
    env.rollout(10, policy="random", seed=0)
    env.close()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.complete
        assert recording.steps == 20


# ---- damaged -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("finished", [True, False])
def test_every_damaged_byte_is_noticed(finished, tmp_path):
    kept = written(tmp_path / "run.rec", 200)
    data = (tmp_path / "run.rec").read_bytes()
    with batchenv.replay(tmp_path / "run.rec") as whole:
        blocks = [entry.block for entry in whole._contents.entries]
    if not finished:
        data = data[: blocks[-1].end]
    rng = np.random.default_rng(0)
    places = {*rng.integers(0, len(data), 60).tolist(), *(block.offset + 3 for block in blocks[:6])}
    noticed = 0
    for place in sorted(places):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad.rec").write_bytes(damaged)
        try:
            with batchenv.replay(tmp_path / "bad.rec") as recording:
                recording.verify()
                kept.check(recording, 0, int(recording.lengths.min()))
                # The index and its end are not needed; the reserved bytes mean nothing; a torn end is left out.
                assert not recording.complete or 12 <= place < 16 or recording.left_out == 0
                assert recording.steps == 600 or not recording.complete
                continue
        except DamagedRecording as problem:
            assert problem.offset <= place
            assert f"byte {problem.offset}" in str(problem)
        except RecordingError as problem:
            assert place < 16 or "format" in str(problem)
        noticed += 1
    assert noticed > 30


def test_what_lies_before_the_damage_can_be_read(tmp_path):
    kept = written(tmp_path / "run.rec", 300)
    data = bytearray((tmp_path / "run.rec").read_bytes())
    with batchenv.replay(tmp_path / "run.rec") as whole:
        third = [entry.block for entry in whole._contents.entries if entry.kind == b"STEP"][2]
    data[third.offset + 30] ^= 4
    (tmp_path / "run.rec").write_bytes(data)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        kept.check(recording, 0, 64)  # what is damaged is not read for it
        with pytest.raises(DamagedRecording, match="until_damage=True") as caught:
            recording.verify()
        assert caught.value.offset == third.offset
    with batchenv.replay(tmp_path / "run.rec", until_damage=True) as recording:
        assert not recording.complete
        assert recording.left_out == len(data) - third.offset
        assert recording.lengths.tolist() == [128] * 3
        kept.check(recording, 0, 128)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"something else, which is long enough")
    (tmp_path / "b").write_bytes(b"")
    for name in "ab":
        with pytest.raises(RecordingError, match="does not begin as one"):
            batchenv.replay(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        batchenv.replay(tmp_path / "missing")
    written(tmp_path / "run.rec", 10)
    data = bytearray((tmp_path / "run.rec").read_bytes())
    data[8] = 9
    (tmp_path / "new.rec").write_bytes(data)
    with pytest.raises(RecordingError, match="has format 9, and this batchenv reads format 1"):
        batchenv.replay(tmp_path / "new.rec")


def test_arrays_of_objects_are_never_read():
    from batchenv.recordings.values import from_json

    for dtype in ("|O", "|V8"):
        with pytest.raises((ValueError, TypeError)):
            from_json({"": "array", "dtype": dtype, "shape": [1], "of": "AAAAAAAAAAA="})


def test_files_of_strangers_make_nothing_but_environments_of_batchenv(tmp_path):
    (tmp_path / "evil.py").write_text("raise SystemExit('it was run')")
    (tmp_path / "evil.c").write_text("#error it was compiled")
    for name, by in (("evil:Env-v0", "gymnasium"), (str(tmp_path / "evil.c"), "core"), ("evil.c:Env-v0", "core")):
        written(tmp_path / "run.rec", 5, overwrite=True)
        changed_header(tmp_path / "run.rec", lambda header, name=name, by=by: header["make"].update(id=name, by=by))
        refused = pytest.raises(RecordingError, match=r"trust=True|has no environment")
        with batchenv.replay(tmp_path / "run.rec") as recording, refused:
            recording.window(0, 2)


def test_small_files_do_not_become_large():
    import zlib

    from batchenv.recordings.values import pack, unpack

    bomb = zlib.compress(bytes(10**8))
    honest = pack({}, {"a": np.zeros(100)})
    _, arrays = unpack(honest)
    assert arrays["a"].shape == (100,)
    head = json.dumps([{}, [["a", "|u1", [16], "z", len(bomb)]]]).encode()
    _, arrays = unpack(len(head).to_bytes(4, "little") + head + bomb)
    assert arrays["a"].nbytes == 16


# ---- written by two, or not at all -------------------------------------------------------------------------------


def test_two_writers(tmp_path):
    first, second = batchenv.make("CartPole-v1", 2), batchenv.make("CartPole-v1", 2)
    recorder = batchenv.record(first, tmp_path / "run.rec")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        batchenv.record(second, tmp_path / "run.rec")
    with pytest.raises(RecordingError, match="is being written by another recording"):
        batchenv.record(second, tmp_path / "run.rec", overwrite=True)
    with pytest.raises(RecordingError, match="is being recorded already"):
        batchenv.record(first, tmp_path / "other.rec")
    assert not (tmp_path / "other.rec").exists()
    done = run(
        """
        import sys, batchenv
        try:
            batchenv.record(batchenv.make("CartPole-v1", 2), sys.argv[1], overwrite=True)
        except batchenv.recordings.RecordingError as error:
            print(error)
        """,
        tmp_path / "run.rec",
    )
    assert "is being written by another recording" in done.stdout, done.stderr
    first.reset(seed=0)
    first.step([0, 1])
    recorder.close()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 2
    batchenv.record(second, tmp_path / "run.rec", overwrite=True).close()


def test_a_folder_that_is_missing(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    with pytest.raises(FileNotFoundError):
        batchenv.record(env, tmp_path / "missing" / "run.rec")
    with batchenv.record(env, tmp_path / "run.rec"):  # nothing is left over
        env.reset(seed=0)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no such limit")
def test_a_full_disk_loses_no_step(tmp_path):
    program = """
        import resource, signal, sys, numpy as np, batchenv
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        env, other = (batchenv.make("HalfCheetah-v5", 4) for _ in range(2))
        env.action_space.seed(0)
        actions = [env.action_space.sample() for _ in range(400)]
        env.reset(seed=0), other.reset(seed=0)
        recorder = batchenv.record(env, sys.argv[1], flush_seconds=1e-6)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        for t, action in enumerate(actions):
            try:
                result = env.step(action)
            except batchenv.recordings.RecordingError as error:
                print("step", t, error)
                break
            same = other.step(action)
            assert np.array_equal(result[0], same[0])
        for _ in range(2):
            try:
                env.step(action)
            except batchenv.recordings.RecordingError as error:
                print("again", error)
        try:
            recorder.close()
        except batchenv.recordings.RecordingError as error:
            print("close", error)
        assert np.array_equal(env.step(action)[0], other.step(action)[0])
        print("goes on")
    """
    done = run(program, tmp_path / "run.rec")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["step", "again", "again", "close", "goes"], done.stdout + done.stderr
    step = int(lines[0].split()[1])
    assert str(tmp_path / "run.rec") in lines[0]
    assert os.strerror(errno.EFBIG) in lines[0]
    safe = int(lines[0].partition(" steps of each lane are safe")[0].split()[-1])
    assert safe in (step - 1, step - 2)  # a block has one step or two here, and the last one is not in the file
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert not recording.complete
        assert recording.lengths.tolist() == [safe] * 4
        recording.verify()


def test_a_device_that_is_full():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    env = batchenv.make("CartPole-v1", 2)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        batchenv.record(env, "/dev/full", overwrite=True)
    env.reset(seed=0)  # the env is as before


def test_an_exception_of_the_loop_is_not_hidden(tmp_path, monkeypatch):
    env = batchenv.make("CartPole-v1", 2)

    def full(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ZeroDivisionError) as caught, batchenv.record(env, tmp_path / "run.rec"):
        monkeypatch.setattr(Writer, "_write", full)
        env.reset(seed=0)
        raise ZeroDivisionError
    assert "has stopped" in caught.value.__notes__[0]
    env.step([0, 1])


def test_a_forked_child_does_not_write(tmp_path):
    env = batchenv.make("CartPole-v1", 2, num_threads=1)
    with batchenv.record(env, tmp_path / "run.rec") as recorder:
        env.reset(seed=0)
        env.step([0, 1])
        child = os.fork()
        if child == 0:
            try:
                env.step([0, 1])
            except RecordingError as error:
                os._exit(7 if "was forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        env.step([1, 1])
        assert recorder.steps == 4
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 4


# ---- versions, and envs that are not as they were ----------------------------------------------------------------


def changed_header(path, change):
    """Writes a recording again with another header."""
    from batchenv.recordings.contents import Contents
    from batchenv.recordings.values import pack

    contents = Contents(path, False)
    header = contents.header
    change(header)
    blocks = [(entry.kind, contents._reader.read(entry.block)) for entry in contents.entries]
    contents.close()
    writer = Writer(path, True)
    writer.append(b"HEAD", pack(header, {}))
    for kind, payload in blocks:
        writer.append(kind, payload)
    writer.close()


def test_other_versions_are_refused(tmp_path):
    kept = written(tmp_path / "run.rec", 50)
    changed_header(tmp_path / "run.rec", lambda header: header["versions"].update(batchenv="0.0.9"))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert len(recording.episodes.lanes)  # what needs no env is there
        with pytest.raises(RecordingError, match=r"batchenv 0\.0\.9 there and .* here.*ignore_versions=True"):
            recording.window(0, 10)
    with batchenv.replay(tmp_path / "run.rec", ignore_versions=True) as recording:
        kept.check(recording)


def test_versions_that_decide_nothing_are_told(tmp_path):
    kept = written(tmp_path / "run.rec", 50)
    changed_header(tmp_path / "run.rec", lambda header: header["versions"].update(numpy="1.0"))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.differences == [f"numpy 1.0 there and {np.__version__} here"]
        kept.check(recording)


def test_simulators_decide(tmp_path):
    for env_id, package in (("HalfCheetah-v5", "mujoco"), ("Pong-v5", "multi-agent-ale-py")):
        env = batchenv.make(env_id, 1)
        header = headers.describe(env)
        assert package in header["decides"]
        assert header["versions"][package]
    assert header["rom"] == "60e0ea3cbe0913d39803477945e9e5ec"


def test_an_env_that_is_another_one_now(tmp_path):
    written(tmp_path / "run.rec", 200)

    def lighter():
        return batchenv.make("CartPole-v1", 3, masscart=1.0001)

    with batchenv.replay(tmp_path / "run.rec", make_env=lighter) as recording:
        with pytest.raises(ReplayMismatch, match="observations or infos") as caught:
            recording.window(0, 10)
        assert (caught.value.lane, caught.value.start, caught.value.stop) == (0, 0, 64)
        with pytest.raises(ReplayMismatch):
            recording.verify()
    more = pytest.raises(RecordingError, match="num_envs=4, and the recorded one had 3")
    with batchenv.replay(tmp_path / "run.rec", make_env=lambda: batchenv.make("CartPole-v1", 4)) as recording, more:
        recording.window(0, 10)
    with batchenv.replay(tmp_path / "run.rec", make_env=lambda: 3) as recording, pytest.raises(RecordingError):
        recording.window(0, 10)


@pytest.mark.parametrize("what", ["r", "o", "es", "a0"])
def test_checksums_notice_a_difference(what, tmp_path):
    """A recording whose blocks are whole, but which says something else than what happened."""
    from batchenv.recordings.contents import Contents
    from batchenv.recordings.values import pack, unpack

    written(tmp_path / "run.rec", 200)
    contents = Contents(tmp_path / "run.rec", False)
    header = contents.header
    blocks = [(entry.kind, contents._reader.read(entry.block)) for entry in contents.entries]
    contents.close()
    writer = Writer(tmp_path / "run.rec", True)
    writer.append(b"HEAD", pack(header, {}))
    for number, (kind, payload) in enumerate(blocks):
        if kind == b"STEP" and number > 4:
            meta, arrays = unpack(payload)
            arrays[what] = np.array(arrays[what])
            arrays[what][-1] ^= 1
            payload = pack(meta, arrays)
        writer.append(kind, payload)
    writer.close()
    with batchenv.replay(tmp_path / "run.rec") as recording, pytest.raises(ReplayMismatch):
        recording.verify()


def test_models_of_files_need_a_function(tmp_path):
    import mujoco

    body = "<body><joint name='a' type='slide'/><geom size='1'/></body>"
    actuator = "<actuator><motor joint='a' ctrlrange='-1 1' ctrllimited='true'/></actuator>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody>{actuator}</mujoco>")
    env = batchenv.make_mujoco(model, 2)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.rollout(5, policy="random", seed=0)
    with batchenv.replay(tmp_path / "run.rec") as recording, pytest.raises(RecordingError, match="make_env="):
        recording.window(0, 2)
    with batchenv.replay(tmp_path / "run.rec", make_env=lambda: batchenv.make_mujoco(model, 2)) as recording:
        assert recording.verify() == 10


# ---- what cannot be recorded -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"observations": "yes"}, "observations='yes' must be 'auto', True or False"),
        ({"key_frames": 0}, "key_frames=0 must be at least 1"),
        ({"flush_seconds": 0}, "flush_seconds=0 must be more than 0"),
    ],
)
def test_wrong_arguments(keywords, message, tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    with pytest.raises(ValueError, match=message):
        batchenv.record(env, tmp_path / "run.rec", **keywords)
    assert not (tmp_path / "run.rec").exists()


def test_no_batch_env(tmp_path):
    import gymnasium

    for wrong in (gymnasium.make("CartPole-v1"), "CartPole-v1", None):
        with pytest.raises(TypeError, match="must be a BatchEnv"):
            batchenv.record(wrong, tmp_path / "run.rec")
    env = batchenv.make("CartPole-v1", 1)
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        batchenv.record(env, tmp_path / "run.rec")


def test_the_command(tmp_path, capsys):
    from batchenv.__main__ import main

    written(tmp_path / "run.rec", 50)
    assert not main(["replay", str(tmp_path / "run.rec"), "--verify"])
    said = capsys.readouterr().out
    assert "CartPole-v1" in said and "150 steps are the recorded ones" in said
    assert not main(["replay", str(tmp_path / "run.rec"), "--json", str(tmp_path / "about.json")])
    assert json.loads((tmp_path / "about.json").read_text())["num_envs"] == 3
    changed_header(tmp_path / "run.rec", lambda header: header["versions"].update(batchenv="0.0.9"))
    assert main(["replay", str(tmp_path / "run.rec"), "--verify"]) == 1
    assert "ignore_versions=True" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "run.rec"), "--verify", "--ignore-versions"]) == 0
