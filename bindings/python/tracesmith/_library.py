# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libtracesmith; errors; objects of the library that several threads may use and close."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import os
import pathlib
import shutil
import threading
from typing import Any, Callable, Iterator, List, Optional

from . import _abi

SONAME = "libtracesmith.so.0"


class ErrorCode(enum.IntEnum):
    """The numbers of enum tsm_error."""

    OK = 0
    ARGUMENT = -1
    MEMORY = -2
    IO = -3
    FORMAT = -4
    VERSION = -5
    NOT_FOUND = -6
    CHECKSUM = -7
    LOSSY = -8
    UNSUPPORTED = -9
    DEVICE = -10
    DIFFERENT = -11
    STATE = -12
    LIMIT = -13


class TraceSmithError(Exception):
    """An error of the C library: its message, and its number as `code`."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = ErrorCode(code) if code in ErrorCode.__members__.values() else code


class ClosedError(ValueError):
    """Something was used after it was closed."""


def decode(value: Optional[bytes]) -> str:
    """Returns a text of a trace; bytes that are no UTF-8 are shown as they are."""
    return (value or b"").decode("utf-8", "backslashreplace")


def _candidates() -> List[str]:
    chosen = os.environ.get("TRACESMITH_LIBRARY")
    if chosen:
        return [chosen]
    beside = [pathlib.Path(__file__).with_name(name) for name in (SONAME, "libtracesmith.so")]
    return [str(path) for path in beside if path.exists()] + [SONAME]


def _load() -> Any:
    problems = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
            for name, (result, arguments) in _abi.FUNCTIONS.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
            return library
        except (OSError, AttributeError) as error:
            problems.append(str(error))
    raise OSError(f"libtracesmith: {'; '.join(problems)}; install TraceSmith 0.1 or newer, or name the file in "
                  "TRACESMITH_LIBRARY")


_loaded: Any = None
_loading = threading.Lock()


def library() -> Any:
    """Returns libtracesmith with typed functions; loads it when it is needed first."""
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def check(code: int) -> int:
    """Returns what a function of the library returned, or raises its error."""
    if code < 0:
        message = decode(library().tsm_error_message()) or decode(library().tsm_strerror(code))
        raise TraceSmithError(message, code)
    return code


def find_tool(name: str = "tracesmith") -> str:
    """Returns the path of the tool: TRACESMITH_TOOL, beside this package, or as the shell finds it."""
    chosen = os.environ.get("TRACESMITH_TOOL")
    beside = pathlib.Path(__file__).with_name(name)
    path = chosen or (str(beside) if beside.exists() else shutil.which(name))
    if not path or not shutil.which(path):
        raise OSError(f"{chosen or name}: not found; install TraceSmith, or name the program in TRACESMITH_TOOL")
    return path


class Handle:
    """An object of the library. It is destroyed when it was closed and nobody uses it: a call in another thread,
    or an object that needs it, ends first."""

    def __init__(self, pointer: Any, destroy: Callable[[Any], None], what: str, owner: Optional[Handle] = None) -> None:
        self._pointer, self._destroy, self._what = pointer, destroy, what
        self._lock = threading.RLock()  # the collector may end another handle in between
        self._users = 0
        self._is_closed = False
        if owner is not None:
            try:
                owner.enter()
            except ClosedError:
                destroy(pointer)  # now: the caller still keeps the owner from its end
                raise
        self._owner = owner

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def enter(self) -> Any:
        with self._lock:
            if self._is_closed:
                raise ClosedError(f"{self._what} is closed")
            self._users += 1
            return self._pointer

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._is_closed and self._users == 0
        if is_last:
            self._end()

    @contextlib.contextmanager
    def use(self) -> Iterator[Any]:
        pointer = self.enter()
        try:
            yield pointer
        finally:
            self.leave()

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            is_last = self._users == 0
        if is_last:
            self._end()

    def _end(self) -> None:
        self._destroy(self._pointer)
        if self._owner is not None:
            self._owner.leave()

    def __del__(self) -> None:
        if hasattr(self, "_owner"):  # else it was destroyed at once
            self.close()
