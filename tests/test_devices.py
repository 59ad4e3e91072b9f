"""Memory: freed and asked for again, limited, not enough."""

import subprocess
import sys

import pytest
import torch

from sads.devices import (
    _group_limits,
    available_memory,
    memory_errors_explained,
    require_memory,
)
from sads.errors import InputError

LOOP = """
import resource, numpy
{first}
numpy.full(2**23, 1.0)  # 64 MiB, above what glibc learns to keep by itself
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    numpy.full(2**23, 1.0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(first: str) -> int:
    """Faults of ten blocks that are asked for and freed one after the other."""
    command = [sys.executable, "-c", LOOP.format(first=first)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no mallopt")
def test_freed_memory_is_used_again():
    returned = page_faults("")
    kept = page_faults("from sads.devices import keep_freed_memory; keep_freed_memory()")
    assert kept < returned / 10


def test_limits_of_control_groups_of_both_versions_are_read(tmp_path):
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "user" / "job").mkdir(parents=True)
    (root / "memory.max").write_text("max\n")
    (root / "user" / "memory.max").write_text("5000\n")
    (root / "user" / "job" / "memory.max").write_text("9000\n")
    own.write_text("0::/user/job\n")
    assert sorted(_group_limits(root, str(own))) == [5000, 9000]
    (root / "memory" / "job").mkdir(parents=True)
    (root / "memory" / "job" / "memory.limit_in_bytes").write_text("7000\n")
    own.write_text("3:cpu,cpuacct:/x\n4:memory:/job\n")
    assert _group_limits(root, str(own)) == [7000]
    own.write_text("0::/seen/from/outside\n")
    assert _group_limits(tmp_path / "nowhere", str(own)) == []


def test_available_memory_respects_a_limit_of_the_address_space():
    there = "from sads.devices import available_memory; print(available_memory())"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30)); "
    command = [sys.executable, "-c", limit + there]
    number = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert 0 < number < 4 * 2**30
    assert available_memory() > 0


def test_what_cannot_fit_is_refused_with_what_is_needed_and_there(monkeypatch):
    monkeypatch.setattr("sads.devices.available_memory", lambda: 2**30)
    require_memory(2**30, "this", "wait")
    with pytest.raises(InputError, match=r"needs 3.0 GiB of memory, 1.0 GiB are available: wait"):
        require_memory(3 * 2**30, "this", "wait")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 3 TiB"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate"
            " memory: you tried to allocate 7 bytes. Error code 12"
        ),
        torch.OutOfMemoryError("CUDA out of memory"),
    ],
)
def test_errors_of_allocators_are_one_line(error):
    said = pytest.raises(InputError, match="this ran out of memory")
    with said as caught, memory_errors_explained("this", "wait"):
        raise error
    assert "\n" not in str(caught.value)


def test_other_errors_pass():
    said = pytest.raises(RuntimeError, match="something else")
    with said, memory_errors_explained("this", "wait"):
        raise RuntimeError("something else")
