"""The request for a batch: everything that decides its moment, as JSON."""

import threading
from dataclasses import replace
from functools import lru_cache

from ..geometry.estimators import estimator_of
from ..geometry.plan import Plan
from ..geometry.source import Source, prepare
from ..specs import NetworkSpec, ProbeSpec
from ..specs.coercion import as_subspace
from .request import Request, SetupError, seen_here


class BatchRequest(Request, frozen=True):
    """The batches of one estimate.

    Attributes:
        network: the networks.
        probe: where they are looked at.
        plan: the plan of the estimate.
        device: where to compute.
    """

    network: NetworkSpec
    probe: ProbeSpec
    plan: Plan
    device: str

    @classmethod
    def of(cls, network: NetworkSpec, probe: ProbeSpec, plan: Plan, device: str) -> "BatchRequest":
        """The request as this process sees it."""
        return cls(
            network=network, probe=probe, plan=plan, device=device, **seen_here(network, probe)
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
    request.require(request.network, request.probe)
    network, probe = request.network.seen_from(request.root), request.probe.seen_from(request.root)
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
