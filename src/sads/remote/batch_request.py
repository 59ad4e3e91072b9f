"""The request to a worker: everything that decides the moment of a batch, as JSON.

A worker builds the networks itself, from the same names. It refuses to compute if anything differs
from what the driver has: the code of this package, the libraries that it uses, the content of a
named file, or the networks that are built from it.
"""

import threading
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel

from ..errors import SadsError
from ..foundation.versions import code_version
from ..geometry.estimators import estimator_of
from ..geometry.plan import Plan, software_versions
from ..geometry.source import Source, prepare
from ..specs import NetworkSpec, ProbeSpec
from ..specs.coercion import as_subspace


class SetupError(SadsError):
    """A worker that differs from the driver and must not compute any part of an estimate."""


class BatchRequest(BaseModel, frozen=True, extra="forbid"):
    """The batches of one estimate.

    Attributes:
        network: the networks.
        probe: where they are looked at.
        digests: the digests of network and probe, including the content of their files.
        plan: the plan of the estimate.
        device: where to compute.
        root: the directory that paths are relative to.
        code: version of this package's sources.
        versions: the versions of the libraries that can change bits.
    """

    network: NetworkSpec
    probe: ProbeSpec
    digests: tuple[str, str]
    plan: Plan
    device: str
    root: Path
    code: str
    versions: dict[str, str]

    @classmethod
    def of(cls, network: NetworkSpec, probe: ProbeSpec, plan: Plan, device: str) -> "BatchRequest":
        """The request as this process sees it."""
        return cls(
            network=network,
            probe=probe,
            digests=(network.digest(), probe.digest()),
            plan=plan,
            device=device,
            root=Path.cwd(),
            code=code_version(),
            versions=software_versions(),
        )


_PREPARING = threading.Lock()  # a worker may have several threads


def source_of(text: str) -> Source:
    """The source of batches that a request asks for, given as JSON; the last one is cached.

    Raises:
        SetupError: if this worker would compute something else.
    """
    with _PREPARING:
        return _source(text)


@lru_cache(maxsize=1)
def _source(text: str) -> Source:
    request = BatchRequest.model_validate_json(text)
    _require_same_software(request)
    network, probe = request.network.seen_from(request.root), request.probe.seen_from(request.root)
    _require_same_files(request, network, probe)
    plan = request.plan
    family = network.family(plan.shape, schedule=plan.path)
    source = prepare(
        replace(family, name=plan.network),  # the name may contain a relative path
        probe.probe(plan.shape),
        estimator=estimator_of(plan.of, plan.estimator),
        weighting=plan.weighting,
        timesteps=plan.timesteps,
        seed=plan.seed,
        device=request.device,
        zero_output=plan.zero_output,
        subspace=as_subspace(plan.subspace or "full"),
    )
    if different := plan.differences(source.plan):
        raise SetupError(f"{plan.network} is not the same here ({'; '.join(different)})")
    return source.with_plan(plan)


def _require_same_software(request: BatchRequest) -> None:
    if request.code != code_version():
        raise SetupError(
            f"it runs version {code_version()} of the code, the estimate {request.code}: install "
            "the same version there"
        )
    here = software_versions()
    if here != request.versions:
        names = [name for name in here if here[name] != request.versions.get(name)]
        said = ", ".join(f"{n} {here[n]} instead of {request.versions.get(n)}" for n in names)
        raise SetupError(f"it has {said}: install the same version there")


def _require_same_files(request: BatchRequest, network: NetworkSpec, probe: ProbeSpec) -> None:
    for asked, seen, digest in zip(
        (request.network, request.probe), (network, probe), request.digests, strict=True
    ):
        if seen.digest() != digest:
            raise SetupError(
                f"the files of {asked} differ there: every machine needs the same files at the "
                "same place"
            )
