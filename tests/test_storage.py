"""Files that are whole or not there: what is replaced, what is followed, what is refused."""

import os
import socket
import stat
from pathlib import Path

import pytest

from sads.cli import main
from sads.diffusion import write_samples
from sads.errors import ArtefactError, SadsError
from sads.report.build import check_output
from sads.storage.files import atomic_write, file_target, write_bytes, writing

NEW = write_bytes(b"new")


def special(place: Path, kind: str) -> Path:
    path = place / "out"
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a directory":
            path.mkdir()
        case "a socket":
            listening = socket.socket(socket.AF_UNIX)
            here = Path.cwd()
            os.chdir(place)  # the address of a socket has to be short
            listening.bind("out")
            os.chdir(here)
            listening.close()
        case "a character device":
            try:
                os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            except PermissionError:
                pytest.skip("only root makes devices")
    return path


@pytest.mark.parametrize("through", ["itself", "a link"])
@pytest.mark.parametrize("kind", ["a pipe", "a directory", "a socket", "a character device"])
def test_what_is_no_file_is_not_replaced(tmp_path, kind, through):
    path = special(tmp_path, kind)
    if through == "a link":
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    before = path.lstat()
    with pytest.raises(ArtefactError, match=rf"cannot write {path}: it is {kind}") as refused:
        atomic_write(path, NEW)
    assert len(str(refused.value).splitlines()) == 1
    assert path.lstat().st_ino == before.st_ino
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    link.symlink_to(Path("elsewhere") / "file")
    atomic_write(link, NEW)  # there is no file yet
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    inode = target.stat().st_ino
    with open(target, "rb") as before:
        atomic_write(link, write_bytes(b"newer"))
        assert before.read() == b"new"  # replaced, not written into
    assert (target.read_bytes(), link.is_symlink()) == (b"newer", True)
    assert target.stat().st_ino != inode
    assert [p.name for p in target.parent.iterdir()] == ["file"]


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ArtefactError, match="levels of symbolic links"):
        atomic_write(tmp_path / "a", NEW)


def test_a_link_into_nowhere_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none" / "file")
    with pytest.raises(ArtefactError, match=f"there is no directory {tmp_path / 'none'}"):
        file_target(tmp_path / "link")


def test_a_lock_that_is_a_pipe_does_not_wait_for_ever(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(ArtefactError, match="it is a pipe"), writing(tmp_path):
        pass


def test_samples_are_not_drawn_for_a_place_that_cannot_be_written(tmp_path):
    def chunks():
        raise AssertionError("a sample was drawn")
        yield

    with pytest.raises(ArtefactError, match="it is a pipe"):
        write_samples(special(tmp_path, "a pipe"), chunks(), (2,), 4)


def test_a_report_is_not_made_for_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(SadsError, match="it is a pipe"):
        check_output(special(tmp_path, "a pipe"), force=True)


@pytest.mark.parametrize(
    "command",
    [
        ["directions", "nowhere", "--png"],
        ["align", "nowhere", "--data", "digits", "--png"],
        ["data", "npy:nowhere", "--png"],
        ["results", "nowhere", "--csv"],
    ],
)
def test_commands_look_at_the_place_first(tmp_path, command, monkeypatch, capsys):
    path = special(tmp_path, "a pipe")
    monkeypatch.setattr("sys.argv", ["sads", *command, str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"sads: error: cannot write {path}: it is a pipe, expected a file or nothing there\n"
    )
