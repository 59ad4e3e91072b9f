"""Training and sampling with `--compile`, against a plain eager loop of the same network and batch.

    python benchmarks/training.py [--batch 128] [--steps 30]
    python benchmarks/training.py --metrics    what compile and bfloat16 do to the distances
    python benchmarks/training.py --threads    chunks at once against threads inside operations

Both run in float32 in this process, alternating in rounds so that a noisy machine disturbs both
alike. The first steps of the compiled side are its warm-up, reported apart.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from sads.diffusion import Settings, Step, compiled, sample_chunks, train
from sads.distances import sliced_wasserstein
from sads.networks import preset_family
from sads.specs.coercion import as_dataset

NAME = "iddpm-16"
ROUNDS = 3


def plain_training(batch: int, steps: int) -> float:
    """Images a second of the loop that anyone would write."""
    family = preset_family(NAME)
    network = family.member(0).train()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    abar = torch.from_numpy(family.schedule.signal_power).float()
    data = torch.randn(10_000, *family.shape)

    def step() -> None:
        x = data[torch.randint(len(data), (batch,))]
        t = torch.randint(1000, (batch,))
        eps = torch.randn_like(x)
        a = abar[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(network(a.sqrt() * x + (1 - a).sqrt() * eps, t), eps)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()

    step()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    return steps * batch / (time.perf_counter() - started)


def our_training(batch: int, steps: int) -> tuple[float, float]:
    """Images a second of ours with compile, and the seconds of its warm-up."""
    family = preset_family(NAME)
    times: list[float] = []

    def clock(step: Step) -> None:
        times.append(step.seconds)

    settings = Settings(iterations=steps + 3, batch_size=batch, compile=True)
    train(family, torch.randn(10_000, *family.shape), settings, callbacks=(clock,))
    return steps * batch / (times[-1] - times[2]), times[2]


def sampling(batch: int, steps: int, fast: bool) -> tuple[float, float]:
    """Images times steps a second, and the seconds of the warm-up."""
    family = preset_family(NAME)
    network = family.member(0).eval().requires_grad_(False)
    times: list[float] = []
    started = time.perf_counter()
    for _ in sample_chunks(
        compiled(network) if fast else network,
        family.shape,
        batch,
        family.schedule,
        steps=steps + 3,
        chunk=batch,
        on_step=lambda done, total: times.append(time.perf_counter() - started),
    ):
        pass
    return steps * batch / (times[-1] - times[2]), times[2]


def chunks_at_once(batch: int, steps: int) -> dict[str, float]:
    """Images times steps a second with a thread for each chunk, and with all inside operations."""
    family = preset_family(NAME)
    networks = [family.member(0).eval().requires_grad_(False) for _ in range(2)]
    rates: dict[str, list[float]] = {"chunks at once": [], "one after the other": []}
    for _ in range(ROUNDS):
        for kind, others in zip(rates, (networks[1:], []), strict=True):
            started = time.perf_counter()
            for _ in sample_chunks(
                networks[0],
                family.shape,
                2 * batch,
                family.schedule,
                steps=steps,
                chunk=batch,
                others=others,
            ):
                pass
            rates[kind].append(2 * batch * steps / (time.perf_counter() - started))
    found = {kind: statistics.median(own) for kind, own in rates.items()}
    ratio = found["chunks at once"] / found["one after the other"]
    return found | {"ratio": ratio, "threads": torch.get_num_threads()}


def metrics() -> list[dict]:
    """SW2 and MSW2 of small trainings on rank-one data, the same but for compile or bfloat16."""
    family = preset_family(NAME)
    data = as_dataset("rank-one:dct:0", shape=family.shape, split="train").samples
    held_out = as_dataset("rank-one:dct:0,count=2000", shape=family.shape, split="held-out")
    truth = held_out.samples.reshape(2000, -1)
    rows = []
    for seed in range(3):
        for name, change in (
            ("plain", {}),
            ("compile", {"compile": True}),
            ("bfloat16", {"bfloat16": True}),
        ):
            settings = Settings(
                iterations=60, batch_size=16, learning_rate=1e-3, seed=seed, **change
            )
            trained = train(family, torch.from_numpy(data), settings)
            chunks = sample_chunks(
                trained.network, family.shape, 500, family.schedule, steps=50, seed=seed
            )
            x = torch.cat(list(chunks)).flatten(1).numpy()
            distance = sliced_wasserstein(x, truth, generator=0)
            row = {
                "seed": seed,
                "kind": name,
                "sw2": distance.sw2,
                "msw2": distance.msw2,
                "loss": trained.losses[-20:].mean().item(),
                "seconds": trained.seconds,
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.metrics:
        measured = metrics()
        if arguments.json:
            arguments.json.write_text(json.dumps(measured, indent=1) + "\n")
        return
    batch, steps = arguments.batch, arguments.steps
    if arguments.threads:
        torch.set_num_threads(2)
        pace = chunks_at_once(64, steps)
        print(json.dumps(pace))
        if arguments.json:
            arguments.json.write_text(json.dumps(pace, indent=1) + "\n")
        return
    rows: dict[str, list[float]] = {
        "train": [],
        "train plain": [],
        "sample": [],
        "sample plain": [],
    }
    warm: dict[str, float] = {}
    for _ in range(ROUNDS):
        rows["train plain"].append(plain_training(batch, steps))
        rate, seconds = our_training(batch, steps)
        rows["train"].append(rate)
        warm.setdefault("train", seconds)
        rows["sample plain"].append(sampling(batch, steps, fast=False)[0])
        rate, seconds = sampling(batch, steps, fast=True)
        rows["sample"].append(rate)
        warm.setdefault("sample", seconds)
    found = {}
    print(f"{NAME}, batches of {batch}, images a second (median of {ROUNDS} rounds)")
    for kind in ("train", "sample"):
        ours, plain = statistics.median(rows[kind]), statistics.median(rows[f"{kind} plain"])
        found[kind] = {
            "compiled": ours,
            "plain": plain,
            "ratio": ours / plain,
            "warm_up": warm[kind],
        }
        print(
            f"{kind:7} compiled {ours:8.0f}  plain {plain:8.0f}  {ours / plain:.2f} times, "
            f"after a warm-up of {warm[kind]:.0f} s"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
