"""What the README shows runs as shown."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names: dict = {}
    exec(code, names)  # noqa: S102 - our own README
    printed = capsys.readouterr().out
    assert "Geometry(iddpm-16, 1x16x16" in printed
    assert printed.count("known to within 0 levels") == 3
    assert "cnn on 1x16x16" in printed
    assert names["least"].shape == (1, 16, 16)
