# SPDX-License-Identifier: Apache-2.0
"""A fixture for pytest: `assert_deterministic([program, ...])` fails where the GPU's results depend on luck."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Callable, Mapping, Optional, Sequence

import pytest

from ._library import find_tool
from ._record import record

ANSWERS = {1: "the GPU's work is not deterministic", 2: "it cannot be told whether the GPU's work is deterministic",
           3: "there is nothing to compare"}


def run_check(trace: pathlib.Path, count: int, device: Optional[str], options: Sequence[str]) -> str:
    """Replays a trace with --check. Returns "", or the answer with the report."""
    words = [find_tool(), "replay", f"--check={count}", *(["--device", device] if device else []), *options, str(trace)]
    # Status 3 is also that of a replay that was carried out.
    done = subprocess.run(words, capture_output=True, text=True, errors="backslashreplace", env=dict(os.environ))
    if done.returncode == 0:
        return ""
    return f"{ANSWERS.get(done.returncode, 'the replay failed')}\n{done.stdout}{done.stderr}".rstrip()


def assert_in(directory: pathlib.Path, command: Sequence[str], *, count: int = 2, device: Optional[str] = "emu",
              record_options: Sequence[str] = (), replay_options: Sequence[str] = (),
              env: Optional[Mapping[str, str]] = None) -> pathlib.Path:
    """Records a program, replays it in several ways, and raises AssertionError with the report where results differ.
    Returns the trace, which is in the directory."""
    __tracebackhide__ = True
    trace = directory / "deterministic.sbt"
    done = record([str(word) for word in command], str(trace), emu=device == "emu", options=record_options, env=env,
                  check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with status {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    if not trace.exists():
        raise AssertionError(f"{command[0]} sent nothing to a GPU\n{done.stderr}".rstrip())
    report = run_check(trace, count, device, replay_options)
    if report:
        raise AssertionError(f"{report}\nthe trace: {trace}")
    return trace


@pytest.fixture
def assert_deterministic(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Returns a function that records a program, replays it with --check and fails with the report:
    assert_deterministic(command, count=2, device="emu", record_options=(), replay_options=(), env=None)."""

    def check(command: Sequence[str], **options: object) -> pathlib.Path:
        __tracebackhide__ = True
        return assert_in(tmp_path, command, **options)  # type: ignore[arg-type]

    return check
