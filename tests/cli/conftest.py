"""The command line as a function."""

import sys

import pytest

from sads.cli import main


@pytest.fixture
def sads(monkeypatch, capsys):
    """Run a command line in this process; returns exit code, standard output and error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sads", *arguments])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
