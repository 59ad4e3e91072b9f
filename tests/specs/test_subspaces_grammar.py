"""The grammar of subspaces: texts are kept, values are those they name."""

import pytest

from sads.errors import InputError
from sads.inspection.subspaces import Adaptive, LowFrequencies, Whole
from sads.specs import SubspaceSpec

TEXTS = {
    "full": Whole(),
    "dct:32": LowFrequencies(32),
    "adaptive:512": Adaptive(512),
    "adaptive:64,sketch=24": Adaptive(64, 24),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_kept_and_names_its_value(text):
    spec = SubspaceSpec.parse(text)
    assert str(spec) == text
    assert SubspaceSpec.model_validate_json(spec.model_dump_json()) == spec
    assert spec.subspace() == TEXTS[text]
    assert spec.subspace().spelled == text
    assert spec.paths() == ()


def test_the_subspace_of_a_geometry_is_a_path():
    spec = SubspaceSpec.parse("geometry=runs/a")
    assert [str(path) for path in spec.paths()] == ["runs/a"]
    assert str(spec) == "geometry=runs/a"


@pytest.mark.parametrize(
    "text", ["", "dct", "dct:", "dct:0", "dct:-1", "dct:2.5", "adaptive:8,sketch", "adaptive:8,a=1"]
)
def test_what_is_no_subspace_is_refused(text):
    with pytest.raises(InputError):
        SubspaceSpec.parse(text)
