"""Absurd input to every command: one line, exit code 2, nothing written, no waiting for ever."""

import os
import signal
import socket
import struct
import zipfile

import numpy as np
import pytest

import sads as package

BIG, LONG = "1" + "0" * 30, "9" * 5000
TINY = ["mlp,width=8,depth=1", "--shape", "1x4x4"]
LINE = "rank-one:dct:0,count=50"
SPECIFICATION = """
protocol = {protocol}
seeds = [{seed}]
[[grid]]
networks = ["mlp,width=8,depth=1"]
shape = "1x4x4"
bases = ["dct"]
indices = [{index}]
"""


class HungError(BaseException):
    """A command that waits; not an Exception, so that no command can take it for its own."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A geometry and a training that commands can be given."""
    folder = tmp_path_factory.mktemp("stored")
    small = {"shape": "1x4x4", "out": folder / "geometry", "networks": 24}
    package.estimate_geometry("mlp,width=8,depth=1", **small)
    package.train(
        "mlp,width=8,depth=1",
        LINE,
        shape="1x4x4",
        iterations=2,
        batch_size=4,
        out=folder / "training",
    )
    return folder


@pytest.fixture
def refused(sads, stored, tmp_path, monkeypatch):
    """Run a command in an empty directory and check that it is refused as it should be.

    `@geometry` and `@training` stand for stored ones, `@` for the directory of hostile files.
    """

    def give_up(number, frame):
        raise HungError

    def run(*arguments: str) -> str:
        place = tmp_path / "work"
        place.mkdir()
        monkeypatch.chdir(place)
        words = [
            word.replace("@geometry", str(stored / "geometry"))
            .replace("@training", str(stored / "training"))
            .replace("@", f"{tmp_path}/")
            for word in arguments
        ]
        before = signal.signal(signal.SIGALRM, give_up)
        signal.alarm(30)
        try:
            code, out, err = sads(*words)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        assert (code, out) == (2, ""), err
        assert err.startswith("sads: error: ")
        assert err.count("\n") == 1
        assert len(err) < 800
        assert not any(place.iterdir())
        return err

    return run


COMMANDS = {
    "geometry": ["geometry", *TINY],
    "compare": ["compare", "@geometry", "@geometry"],
    "rotate": ["rotate", "@geometry", "--data", LINE, "--kind", "random", "--out", "x"],
    "doctor": ["doctor", *TINY],
    "rank": ["rank", *TINY, "cnn,width=4,depth=1", "--data", LINE],
    "train": ["train", *TINY, "--data", LINE, "--batch-size", "4", "--out", "x"],
    "sample": ["sample", "@training", "--out", "x.npy", "--steps", "3"],
    "distance": ["distance", LINE, LINE, "--shape", "1x4x4"],
    "watch": ["watch", "@geometry"],
    "sweep": ["sweep", "@sweep.toml", "--out", "x"],
    "figure": ["figure", "6", "--out", "x"],
}
WHOLE = ["0", "-1", BIG, "nan", "inf", "", "1e400", LONG]
SEED = WHOLE[1:]
REAL = ["-1", "nan", "inf", "", "1e400", "x"]
NUMBERS = {
    ("geometry", "--networks"): WHOLE,
    ("geometry", "--tolerance"): ["0", BIG, *REAL],
    ("geometry", "--seed"): SEED,
    ("compare", "--level"): ["0", BIG, *REAL],
    ("rotate", "--rank"): WHOLE,
    ("rotate", "--seed"): SEED,
    ("doctor", "--networks"): ["", "nan", LONG],
    ("doctor", "--seed"): SEED,
    ("rank", "--tolerance"): ["0", BIG, *REAL],
    ("rank", "--seed"): SEED,
    ("train", "--iterations"): WHOLE,
    ("train", "--batch-size"): WHOLE,
    ("train", "--learning-rate"): ["0", *REAL],
    ("train", "--accumulate"): WHOLE,
    ("train", "--seed"): SEED,
    ("train", "--rank"): ["", "nan", LONG],
    ("sample", "--count"): WHOLE,
    ("distance", "--projections"): [*WHOLE, "1" + "0" * 14],
    ("distance", "--seed"): SEED,
    ("watch", "--every"): ["0", *REAL],
    ("sweep", "--workers"): ["0", "-1", "", "nan", LONG],
    ("sweep", "--retries"): ["-1", "", "nan", LONG],
    ("figure", "--workers"): ["0", "-1", "", "nan", LONG],
}


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [(*place, value) for place, values in NUMBERS.items() for value in values],
)
def test_numbers(refused, tmp_path, command, option, value):
    (tmp_path / "sweep.toml").write_text(SPECIFICATION.format(protocol='"smoke"', seed=0, index=0))
    refused(*COMMANDS[command], f"{option}={value}")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "", "1e400", "x"])
@pytest.mark.parametrize("option", ["--steps", "--eta", "--seed", "--chunk"])
def test_numbers_of_sampling(refused, option, value):
    refused("sample", "@training", "--count", "2", "--out", "x.npy", f"{option}={value}")


NETWORKS = [
    *(f"iddpm-16,channels={n}" for n in (BIG, LONG, "0", "-8", "1000000", "", "٣٢", "1_0")),
    *(f"iddpm-16,{f}={n}" for f in ("groups", "heads", "depth") for n in (BIG, "0", "-1")),
    *(f"iddpm-16,mults={n}" for n in ("", "x", "1x0", f"1x{BIG}", "x".join("1" * 200))),
    *("iddpm-16,", "iddpm-16,,", "iddpm-16,=3", "iddpm-16,channels=8,channels=8"),
    *("iddpm-16,resampling=", "iddpm-16,zero_init=2", "dit-2,patch=0", f"dit-2,patch={BIG}"),
    *("dit-2,width=7", "dit-2,heads=0", "dit-2,depth=-1", f"mlp,width={BIG}", "mlp,depth=0"),
    *("mlp,width=100000,depth=100", "cnn,width=3", "cnn,depth=-1", "ssm,width=0", "vit,patch=3"),
    *("linear,eigenvalues=infx1x1x1x1", "linear,eigenvalues=nanx1x1x1x1", "linear,eigenvalues="),
    *("", "  ", ",", ":", "::", "=", "é", "\x00", "a" * 10_000, "os:", ":x", "a b:c", "os:getcwd"),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_networks(refused, network):
    # As a user would who has little memory: nothing here may try to get it.
    refused("geometry", network, "--networks", "24")


SHAPES = [
    "0",
    "-1",
    "",
    BIG,
    LONG,
    "x",
    "1xx4",
    "1x1x1x1x1",
    f"1x{BIG}",
    "1x٣x3",
    "1x100000x100000",
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("command", ["geometry", "data", "doctor", "distance", "rank", "train"])
def test_shapes(refused, command, shape):
    words = {
        "geometry": ["geometry", "mlp"],
        "data": ["data", LINE],
        "doctor": ["doctor", "mlp"],
        "distance": ["distance", LINE, LINE],
        "rank": ["rank", "mlp", "cnn", "--data", LINE],
        "train": ["train", "mlp", "--data", LINE, "--out", "x"],
    }
    refused(*words[command], f"--shape={shape}")


DATA = [
    *(f"digits,size={n}" for n in (BIG, "0", "-1", "100000", "", "٣")),
    *(f"digits,count={n}" for n in (BIG, "0", "-1", LONG)),
    *(f"digits,seed={n}" for n in ("-1", BIG)),
    *("digits,split=", "digits,split=x", "digits,count=3,count=4", "digits,", "digits:x"),
    *("rank-one", "rank-one:", "rank-one:dct", "rank-one:dct:", "rank-one::0", "rank-one:foo:0"),
    *(f"rank-one:dct:{n}" for n in ("-1", BIG, LONG, "1,2", "²", "1.5", "band=0")),
    *(f"rank-one:dct:0,count={n}" for n in (BIG, "100000000000")),
    *(f"rank-one:geometry=@geometry:{n}" for n in ("", "band=", "band=-1", f"band={BIG}", BIG)),
    *("rank-one:geometry=@geometry", "rank-one:geometry=:0", "rank-one:geometry=\x00:0"),
    *(f"sphere:dct:{n}" for n in ("0,1", "0,0,0", "0,1,2,3", ",,", f"0,1,{BIG}", "²,1,2")),
    *("", "  ", ",", ":", "é:", "\x00", "npy:", "npy:\x00", "npz::", "npz:\x00:a", "folder:\x00"),
    *("mnist:\x00", "npy:.", "npy:" + "a" * 5000, "hf:", "npy:/proc/self/mem"),
]


@pytest.mark.parametrize("data", DATA)
def test_data(refused, data):
    refused("data", data, "--shape", "1x4x4")


PROBES = ["gaussian:nan", "gaussian:inf", "gaussian:-1", "gaussian:0", "gaussian:1e300", "zero:1"]
PROBES += [f"gaussian:{LONG}", "point:", "point:.", "forward:", "forward:forward:zero", ""]
PROBES += ["forward:digits,count=0", "forward:rank-one:dct:99"]


@pytest.mark.parametrize("probe", PROBES)
def test_probes(refused, probe):
    refused("geometry", "cnn,width=4,depth=1", "--shape", "1x4x4", "--probe", probe)


@pytest.mark.parametrize("range_", ["0:0", "5:3", f"0:{BIG}", "0:1001", ":", "0:٣", "-1:4", ""])
def test_timesteps(refused, range_):
    refused("geometry", *TINY, f"--timesteps={range_}")


@pytest.mark.parametrize(
    "words",
    [
        ["figure", "6", "--only", "", "--out", "x"],
        ["figure", "6", "--only", ",", "--out", "x"],
        ["figure", "0", "--out", "x"],
        ["figure", LONG, "--out", "x"],
        ["figure", "6", "--scale", "", "--out", "x"],
        ["geometry", *TINY, "--networks", "24", "--out", ""],
        ["geometry", *TINY, "--device", LONG],
        ["train", *TINY, "--data", LINE, "--out", "x", "--device", "nan"],
        ["train", *TINY, "--data", LINE, "--out", "x", "--rotation", "nowhere"],
        ["train", *TINY, "--data", LINE, "--out="],
        ["sample", "@training", "--count", "1", "--out", ""],
        ["sweep", "@sweep.toml", "--out", "x", "--device", "nan"],
        ["sweep", "@sweep.toml", "--out", "x", "--engine", "dask:"],
        ["results", ""],
        ["report", "--out", "x.html"],
    ],
)
def test_other_options(refused, tmp_path, words):
    (tmp_path / "sweep.toml").write_text(SPECIFICATION.format(protocol='"smoke"', seed=0, index=0))
    refused(*words)


def npy_header(descr: str, shape: str) -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117) + b"\n"


HOSTILE = {
    "rows.npy": npy_header("<f4", "(1000000000000000, 16)") + bytes(64),
    "digits.npy": npy_header("<f4", f"({'9' * 40}, 16)") + bytes(64),
    "negative.npy": npy_header("<f4", "(-4, 16)") + bytes(64),
    "object.npy": npy_header("|O", "(4, 16)") + bytes(64),
    "fraction.npy": npy_header("<f4", "(4.5, 16)") + bytes(64),
    "brackets.npy": b"\x93NUMPY\x01\x00\x00\xff" + b"(" * 65280,
    "empty.npy": b"",
    "junk.npz": b"PK\x03\x04" + b"\xff" * 200,
}


@pytest.mark.parametrize("kind", ["npy", "npz"])
@pytest.mark.parametrize("name", [*HOSTILE, "claims.npz", "pipe", "socket", "folder"])
def test_array_files(refused, tmp_path, kind, name):
    for file, content in HOSTILE.items():
        (tmp_path / file).write_bytes(content)
    with zipfile.ZipFile(tmp_path / "claims.npz", "w") as archive:
        archive.writestr("x.npy", HOSTILE["rows.npy"])
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        (tmp_path / "folder").mkdir()
        refused("data", f"{kind}:@{name}")


def test_a_pipe_in_any_place_of_a_file_does_not_wait(refused, tmp_path):
    for name in ("pipe", "pipe.py", "pipe.json", "train-images-idx3-ubyte", "picture.png"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "sweep.toml").write_text(SPECIFICATION.format(protocol='"smoke"', seed=0, index=0))
    for words in (
        ["data", "mnist:@"],
        ["data", "folder:@"],
        ["geometry", *TINY, "--probe", "point:@pipe"],
        ["geometry", "@pipe.py:make", "--shape", "1x4x4"],
        ["geometry", "diffusers:@pipe.json"],
        ["sweep", "@pipe", "--out", "x"],
        ["sweep", "@sweep.toml", "--out", "x", "--from", "@pipe"],
        ["directions", "@pipe"],
        ["sample", "@pipe", "--count", "1", "--out", "x.npy"],
        ["watch", "@pipe"],
    ):
        refused(*words)
        (tmp_path / "work").rmdir()


@pytest.mark.parametrize(
    "words",
    [
        ["directions", "@geometry", "--png"],
        ["data", LINE, "--shape", "1x4x4", "--png"],
        ["align", "@geometry", "--data", LINE, "--png"],
        ["sample", "@training", "--count", "1", "--steps", "2", "--out"],
        ["report", "@geometry", "--out"],
        ["rotate", "@geometry", "--data", LINE, "--kind", "min", "--out"],
        ["geometry", *TINY, "--networks", "24", "--out"],
    ],
)
def test_a_pipe_is_no_place_to_write(refused, tmp_path, words):
    os.mkfifo(tmp_path / "pipe")
    refused(*words, "@pipe")
    assert (tmp_path / "pipe").is_fifo()


TOML = {
    "lists": "a = " + "[" * 10_000 + "]" * 10_000,
    "tables": "a = " + "{a=" * 10_000 + "1" + "}" * 10_000,
    "keys": ".".join("a" * 5000) + " = 1",
    "long seed": SPECIFICATION.format(protocol='"smoke"', seed=LONG, index=0),
    "big seed": SPECIFICATION.format(protocol='"smoke"', seed=BIG, index=0),
    "big index": SPECIFICATION.format(protocol='"smoke"', seed=0, index=BIG),
    "infinite rate": SPECIFICATION.format(
        protocol='{preset="smoke", learning_rate=inf}', seed=0, index=0
    ),
    "samples": SPECIFICATION.format(protocol=f'{{preset="smoke", samples={BIG}}}', seed=0, index=0),
    "zero bytes": "\0" * 100,
    "nothing": "",
}


@pytest.mark.parametrize("name", TOML)
def test_specifications(refused, tmp_path, name):
    (tmp_path / "sweep.toml").write_text(TOML[name])
    refused("sweep", "@sweep.toml", "--out", "x")


JSON = {
    "deep": "[" * 100_000 + "]" * 100_000,
    "long": f'{{"_class_name": "UNet2DModel", "sample_size": {LONG}}}',
    "big": f'{{"_class_name": "UNet2DModel", "sample_size": 8, "in_channels": {BIG}}}',
    "nan": '{"_class_name": "UNet2DModel", "sample_size": NaN, "in_channels": 1}',
    "list": "[1]",
    "empty": "",
}


@pytest.mark.parametrize("name", JSON)
def test_configurations(refused, tmp_path, name):
    pytest.importorskip("diffusers")
    (tmp_path / "config.json").write_text(JSON[name])
    refused("geometry", "diffusers:@config.json")


def test_bytes_that_are_no_text(refused, tmp_path):
    for name in ("bytes.toml", "bytes.json", "bytes.csv"):
        (tmp_path / name).write_bytes(b"a = '\xff\xfe'")
    (tmp_path / "sweep.toml").write_text(SPECIFICATION.format(protocol='"smoke"', seed=0, index=0))
    for words in (
        ["sweep", "@bytes.toml", "--out", "x"],
        ["geometry", "diffusers:@bytes.json"],
        ["sweep", "@sweep.toml", "--out", "x", "--from", "@bytes.csv"],
        ["data", "npy:@nowhere\udcff.npy"],
    ):
        refused(*words)
        (tmp_path / "work").rmdir()


def test_the_name_of_a_file_need_not_be_text(sads, tmp_path):
    path = os.fsencode(tmp_path) + b"/odd\xff.npy"
    with open(path, "wb") as file:
        np.save(file, np.zeros((4, 1, 4, 4), dtype=np.float32))
    code, out, err = sads("data", f"npy:{os.fsdecode(path)}")
    assert (code, err) == (0, "")
    assert "odd\\udcff.npy" in out
