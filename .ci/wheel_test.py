"""The wheel as a user gets it: built, installed into an empty environment, used on a small network.

    make wheel-test

From the installed wheel to a report on a ten-line network it takes five commands, and less than
three minutes of processor time, whatever else the machine does. Everything that the wheel needs
besides Python code has to be in it.
"""

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NETWORK = """
import torch
from torch import nn

class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(1, 16)
        self.first, self.last = (nn.Conv2d(*n, 3, padding=1) for n in ((1, 16), (16, 1)))

    def forward(self, x, t):
        return self.last(torch.relu(self.first(x) + self.time(t[:, None] / 1000)[:, :, None, None]))
"""
COMMANDS = (
    "sads --version",
    "sads summary mine.py:make --shape 1x8x8",
    "sads doctor mine.py:make --shape 1x8x8 --networks 96 --fail-on error",
    "sads geometry mine.py:make --shape 1x8x8 --networks 240 --out runs/mine",
    "sads report runs/mine --data digits --out report.html",
)
PLUGIN = """
import mine

def test_network(assert_healthy):
    assert_healthy(mine.make, (1, 8, 8), networks=48, fail_on="error")
"""
LIMIT = 180.0  # seconds of processor time for all commands


def main() -> None:
    """Build, install, use."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        wheel = build(place)
        tools = install(wheel, place / "environment")
        (place / "mine.py").write_text(NETWORK + "\n\ndef make():\n    return Mine()\n")
        started, worked = time.monotonic(), processor_seconds()
        for command in COMMANDS:
            program, *words = command.split()
            run([str(tools / program), *words], place)
        seconds, worked = time.monotonic() - started, processor_seconds() - worked
        page = (place / "report.html").read_text(encoding="utf-8")
        if not page.startswith("<!doctype html>"):
            sys.exit("wheel-test: the report is not a page")
        if worked > LIMIT:
            sys.exit(f"wheel-test: the commands took {worked:.0f} s, more than {LIMIT:.0f}")
        run([str(tools / "pip"), *PIP, "pytest"], place)
        (place / "test_network.py").write_text(PLUGIN)
        run([str(tools / "python"), "-m", "pytest", "-q", "test_network.py"], place)
        print(
            f"wheel-test: {wheel.name} on Python {platform.python_version()}, {len(COMMANDS)} "
            f"commands to a report in {seconds:.0f} s, {worked:.0f} s of processor time"
        )


def processor_seconds() -> float:
    """Of all programs that have been run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


PIP = (
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--constraint",
    str(ROOT / "constraints.txt"),
)


def build(place: Path) -> Path:
    """The wheel of this tree."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--wheel-dir", str(place), str(ROOT)], place)
    (wheel,) = place.glob("sads-*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """An empty environment with the wheel and nothing else; its folder of programs."""
    venv.create(environment, with_pip=True)
    tools = environment / "bin"
    run([str(tools / "pip"), *PIP, str(wheel)], environment)
    return tools


def run(command: list[str], place: Path) -> None:
    """Run a command away from this tree, and end with it if it fails."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, cwd=place, env=clean, check=False)
    if done.returncode:
        sys.exit(f"wheel-test: exit code {done.returncode}")


if __name__ == "__main__":
    main()
