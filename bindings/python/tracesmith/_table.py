# SPDX-License-Identifier: Apache-2.0
"""Columns of a trace: memory of the C library, which lives as long as anything that shows it."""

from __future__ import annotations

import array as plain_array
import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from ._library import Handle, library

if TYPE_CHECKING:
    import numpy

# C type -> code of memoryview, type of NumPy
_CODES: Dict[Any, Tuple[str, str]] = {ctypes.c_uint8: ("B", "|u1"), ctypes.c_uint32: ("I", "<u4"), ctypes.c_uint64: ("Q", "<u8"),
          ctypes.c_int64: ("q", "<i8")}


class _Column:
    """What NumPy takes an array from, and keeps as the array's base."""

    def __init__(self, owner: Handle, address: int, count: int, code: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": (count,), "typestr": code, "data": (address, True)}


class Table:
    """Columns of equal length. `table["seq"]` is a NumPy array over memory of the library, nothing is copied."""

    def __init__(self, pointer: Any, destroy: str, labels: Mapping[str, Sequence[str]], calls: Mapping[int, str]) -> None:
        self._handle = Handle(pointer, getattr(library(), destroy), "the table")
        self._labels = dict(labels)
        self._calls = calls
        self._count = int(pointer.contents.count)
        self._columns: Dict[str, Tuple[int, Any]] = {}
        for name, kind in pointer.contents._fields_:
            item = getattr(kind, "_type_", None)
            if isinstance(item, type) and item in _CODES:
                where = ctypes.cast(getattr(pointer.contents, name), ctypes.c_void_p).value or 0
                self._columns[name] = (where, item)

    def __len__(self) -> int:
        return self._count

    @property
    def columns(self) -> List[str]:
        """Names of the columns."""
        return list(self._columns)

    def labels(self, name: str) -> List[str]:
        """Returns the texts that the numbers of a column stand for; an empty list where they are just numbers."""
        self.view(name)
        return list(self._labels.get(name, ()))

    def view(self, name: str) -> memoryview:
        """Returns a column without NumPy: read-only, nothing is copied."""
        where, item = self._columns[name]
        code = _CODES[item][0]
        if not self._count:
            return memoryview(plain_array.array(code)).toreadonly()
        numbers = (item * self._count).from_address(where)
        numbers._owner = self._handle  # lives as long as the view
        return memoryview(numbers).cast("B").cast(code).toreadonly()

    def __getitem__(self, name: str) -> numpy.ndarray[Any, Any]:
        import numpy

        where, item = self._columns[name]
        return numpy.asarray(_Column(self._handle, where, self._count, _CODES[item][1]))

    def to_numpy(self) -> Dict[str, numpy.ndarray[Any, Any]]:
        """Returns all columns by name, nothing is copied."""
        return {name: self[name] for name in self._columns}

    def to_pandas(self) -> Any:
        """Returns a DataFrame. Columns of numbers are not copied; numbers that stand for texts become categories, and
        `type` becomes `call`, the name."""
        import numpy
        import pandas

        data: Dict[str, Any] = {}
        for name, values in self.to_numpy().items():
            labels = self._labels.get(name)
            if name == "type":
                types, places = numpy.unique(values, return_inverse=True)
                names = [self._calls.get(int(number), f"{number:#x}") for number in types]
                data["call"] = pandas.Series(numpy.array(names, dtype=object)[places]).astype("category")
                continue
            data[name] = values
            if labels is not None:
                data[name] = pandas.Categorical.from_codes(values.astype("int32"), list(labels))
        return pandas.DataFrame(data, copy=False)
