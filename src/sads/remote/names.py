"""The names from which workers build what they are asked about."""

from contextlib import suppress

from ..directions.sets import DirectionSet
from ..errors import InputError, SadsError
from ..networks import ScoreFamily
from ..probes import Probe
from ..specs import DataSpec, DirectionsSpec, NetworkSpec, ProbeSpec
from ..specs.coercion import Data, Network


def network_spec(source: Network, family: ScoreFamily, prediction: str | None) -> NetworkSpec:
    """The name of the networks.

    Raises:
        InputError: for networks without a name to build them from elsewhere.
    """
    if isinstance(source, NetworkSpec):
        source = str(source)
    if isinstance(source, str):
        return NetworkSpec.parse(
            source if prediction is None else f"{source},prediction={prediction}"
        )
    with suppress(SadsError):  # a name outside the grammar
        spec = NetworkSpec.parse(family.name)
        named = spec.family(family.shape, schedule=family.schedule)
        if named.fingerprint == family.fingerprint:
            return spec
    raise InputError(
        f"workers build networks from their names, and {family.name} names no preset or factory: "
        "write a function that makes one into a file and name it, FILE.py:function"
    )


def probe_spec(probe: str | Probe, shape: tuple[int, ...]) -> ProbeSpec:
    """The name of a probe.

    Raises:
        InputError: for a probe of values that no file holds.
    """
    if isinstance(probe, str):
        return ProbeSpec.parse(probe)
    with suppress(SadsError):
        spec = ProbeSpec.parse(probe.describe())
        if spec.probe(shape).describe() == probe.describe():
            return spec
    raise InputError(
        f"workers make probes from their names, and {probe.describe()} names no file: give the "
        "probe as point:FILE or forward:DATA"
    )


def data_spec(data: Data) -> DataSpec:
    """The name of the data.

    Raises:
        InputError: for samples in memory.
    """
    if isinstance(data, DataSpec):
        return data
    if isinstance(data, str):
        return DataSpec.parse(data)
    raise InputError(
        "workers read the data from its name, and an array has none: save it with numpy.save and "
        "give npy:FILE"
    )


def directions_spec(directions: str | DirectionSet | None) -> DirectionsSpec | None:
    """The name of the directions; None for those that are taken by default.

    Raises:
        InputError: for directions in memory.
    """
    if directions is None or isinstance(directions, str):
        return None if directions is None else DirectionsSpec.parse(directions)
    raise InputError(
        "workers make directions from their name: give geometry=DIR, dct:bands=K or npy:FILE"
    )
