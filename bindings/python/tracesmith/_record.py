# SPDX-License-Identifier: Apache-2.0
"""Recording programs, with the tool."""

from __future__ import annotations

import os
import subprocess
from typing import Mapping, Optional, Sequence, Union

from ._library import find_tool


def record(command: Sequence[str], output: Union[str, "os.PathLike[str]"], *, emu: bool = False, options: Sequence[str] = (),
           env: Optional[Mapping[str, str]] = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a program and records it into `output`; `options` are those of tsrecord, `env` adds to the environment.
    Returns what it printed and its exit status, or raises CalledProcessError where that is not 0 and `check` is set."""
    words = [find_tool(), "record", "--quiet", *(["--emu"] if emu else []), *options, "-o", os.fsdecode(output), "--", *command]
    return subprocess.run(words, env={**os.environ, **(env or {})}, check=check, capture_output=True, text=True,
                          errors="backslashreplace")
