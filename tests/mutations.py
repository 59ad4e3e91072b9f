"""Random damage to stored files, for tests that nothing damaged is read as something else.

A mutation is what an accident or a careless hand does: flipped bits, other bytes, a lost end,
exchanged or edited values. Checksums are not made anew.
"""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sads.errors import SadsError

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"9" * 30, b"1.5", b"2", b"true", b"null", b"[]")
TYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "I16", "X9")

Mutation = Callable[[bytes, np.random.Generator], bytes]


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip a bit anywhere."""
    place = int(rng.integers(len(content)))
    return _put(content, place, bytes([content[place] ^ (1 << int(rng.integers(8)))]))


def flip_in_the_beginning(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip a bit where headers are."""
    return flip(content[:1200], rng) + content[1200:]


def other_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite one to eight bytes."""
    count = int(rng.integers(1, 9))
    return _put(content, int(rng.integers(len(content))), rng.bytes(count))


def truncate(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content)))]


def append(content: bytes, rng: np.random.Generator) -> bytes:
    return content + rng.bytes(int(rng.integers(1, 65)))


def cut_out(content: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + content[start + int(rng.integers(1, 65)) :]


def repeat(content: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + content[start : start + int(rng.integers(1, 65))] + content[start:]


def exchange(content: bytes, rng: np.random.Generator) -> bytes:
    """Exchange two pieces of the same length."""
    length = int(rng.integers(1, 33))
    first, second = (int(i) for i in rng.integers(max(len(content) - length, 1), size=2))
    piece = content[first : first + length]
    swapped = _put(content, first, content[second : second + length])
    return _put(swapped, second, piece)


def edit_number(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number that stands there as text, or one of its digits."""
    places = list(NUMBER.finditer(content))
    if not places:
        return flip(content, rng)
    place = places[int(rng.integers(len(places)))]
    if rng.random() < 0.5:
        digit = int(rng.integers(place.start(), place.end()))
        return _put(content, digit, str(int(rng.integers(10))).encode())
    number = NUMBERS[int(rng.integers(len(NUMBERS)))]
    return content[: place.start()] + number + content[place.end() :]


def _put(content: bytes, place: int, piece: bytes) -> bytes:
    return (content[:place] + piece + content[place + len(piece) :])[: len(content)]


ANYWHERE: tuple[Mutation, ...] = (
    flip,
    flip_in_the_beginning,
    other_bytes,
    truncate,
    append,
    cut_out,
    repeat,
    exchange,
    edit_number,
)


def edit_header(content: bytes, rng: np.random.Generator) -> bytes:
    """A safetensors file whose header is whole but says something else."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    about, tensors = header["__metadata__"], [name for name in header if name != "__metadata__"]
    match int(rng.integers(7)):
        case 0:
            _edit(about, rng)
        case 1:
            about[_pick(list(about), rng)] = _pick(list(about.values()), rng)
        case 2:
            key = _pick(list(about), rng)
            # Where no number stands a bit is flipped, which need not leave text.
            about[key] = edit_number(about[key].encode(), rng).decode(errors="replace")
        case 3:
            header[_pick(tensors, rng)]["dtype"] = _pick(TYPES, rng)
        case 4:
            header[_pick(tensors, rng)]["shape"] = [int(n) for n in 10 ** rng.integers(19, size=2)]
        case 5:
            header[_pick(tensors, rng)], header[_pick(tensors, rng)] = (
                header[_pick(tensors, rng)],
                header[_pick(tensors, rng)],
            )
        case _:
            header[_pick(tensors, rng) + "x"] = header.pop(_pick(tensors, rng))
    text = json.dumps(header).encode()
    if rng.random() < 0.2:  # a name twice
        text = text[:-1] + b"," + text[1:]
    return len(text).to_bytes(8, "little") + text + body


def edit_json(content: bytes, rng: np.random.Generator) -> bytes:
    """A JSON object with an entry that is removed, exchanged or replaced."""
    whole = json.loads(content)
    tables = [whole, *(value for value in whole.values() if isinstance(value, dict))]
    _edit(_pick(tables, rng), rng)
    return json.dumps(whole).encode()


def edit_cell(content: bytes, rng: np.random.Generator) -> bytes:
    """A table with two cells of a line exchanged, or one repeated or removed."""
    lines = content.decode().split("\n")
    number = int(rng.integers(len(lines) - 1))
    cells = lines[number].split(",")
    first, second = (int(i) for i in rng.integers(len(cells), size=2))
    match int(rng.integers(3)):
        case 0:
            cells[first], cells[second] = cells[second], cells[first]
        case 1:
            cells[first] = cells[second]
        case _:
            del cells[first]
    lines[number] = ",".join(cells)
    return "\n".join(lines).encode()


def edit_database(content: bytes, rng: np.random.Generator) -> bytes:
    """A database in which a value was exchanged, replaced or removed."""
    connection = sqlite3.connect(":memory:")
    # The image of a database with a write-ahead log is read as one without.
    connection.deserialize(_put(content, 18, b"\x01\x01"))
    table = _pick(("trials", "trials", "sweep"), rng)
    key = {"trials": "id", "sweep": "key"}[table]
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    rows = [row[0] for row in connection.execute(f"SELECT {key} FROM {table}")]
    column, other = _pick(columns, rng), _pick(columns, rng)
    value = _pick((f'"{other}"', "2", "'x'", "NULL", "-1.5", f'"{column}" || "0"'), rng)
    try:
        if rng.random() < 0.1:
            connection.execute(f"DELETE FROM {table} WHERE {key} = ?", (_pick(rows, rng),))
        else:
            connection.execute(
                f'UPDATE {table} SET "{column}" = {value} WHERE {key} = ?', (_pick(rows, rng),)
            )
    except sqlite3.IntegrityError:
        connection.execute("PRAGMA user_version = 1")
    connection.commit()
    changed = connection.serialize()
    connection.close()
    return changed


def _edit(table: dict[str, Any], rng: np.random.Generator) -> None:
    first, second = _pick(list(table), rng), _pick(list(table), rng)
    match int(rng.integers(4)):
        case 0:
            table[first], table[second] = table[second], table[first]
        case 1:
            del table[first]
        case 2:
            table[first + "x"] = table.pop(first)
        case _:
            table[first] = table[second]


def _pick(values: Any, rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def mutated(
    content: bytes, count: int, seed: int, kinds: tuple[Mutation, ...]
) -> Iterator[tuple[str, bytes]]:
    """Damaged versions of a file, each with the name of what was done to it."""
    rng = np.random.default_rng([seed, len(content)])
    for _ in range(count):
        kind = kinds[int(rng.integers(len(kinds)))]
        yield kind.__name__, kind(content, rng)


def survey(
    path: Path,
    load: Callable[[], Any],
    *,
    count: int,
    seed: int = 0,
    kinds: tuple[Mutation, ...] = ANYWHERE,
    same: Callable[[Any, Any], bool] = lambda whole, read: whole == read,
) -> Counter[str]:
    """Load damaged versions of a file: how many were refused, equal, or read as something else.

    Args:
        path: the file, which is whole, and is again in the end.
        load: what the file means now.
        count: mutations.
        seed: of the mutations.
        kinds: ways to damage it.
        same: whether a value that was loaded is the right one.

    Raises:
        AssertionError: for an error that is not one of ours.
    """
    content, whole = path.read_bytes(), load()
    outcomes: Counter[str] = Counter()
    for number, (name, damaged) in enumerate(mutated(content, count, seed, kinds)):
        path.write_bytes(damaged)
        try:
            outcome = "equal" if same(whole, load()) else f"other: {name} {number}"
        except SadsError as error:
            outcome = "refused" if len(str(error).splitlines()) == 1 else f"many lines: {error}"
        except BaseException as error:
            raise AssertionError(f"{path.name}, {name} {number}: {error!r}") from error
        outcomes[outcome] += 1
    path.write_bytes(content)
    return outcomes
