"""Memory that is freed and asked for again."""

import subprocess
import sys

import pytest

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
