"""The held-out loss by direction of the networks that a sweep has kept.

    python benchmarks/held_out_loss.py RUNS/SWEEP --out FILE.csv [--bands 16] [--tolerance 0.02]

For every finished trial on data whose law is not known, of a sweep that kept its networks: the mean
squared error of the predicted noise on held-out data, split over bands of frequency, in the
coordinates of the data also where training was on rotated data. Its irreducible part is the same
for every network, and trials of one seed are measured at common samples, noise and timesteps, so
their differences are differences of excess risk. Trainings on whitened data are left out: their
noise is another. Paths of the trials are seen from where the command is run. Trials that are in the
table already are not measured again.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import torch

from sads.data import Dataset
from sads.directions.sets import Cosines
from sads.learning import measure_risk
from sads.learning.references import reference_for
from sads.specs.rotations import rotation_for
from sads.sweep.execute.trial_data import dataset, family_of
from sads.sweep.store.layout import Layout, read_published
from sads.sweep.store.outcome import TrialResult, read_result

PREFIX = "network."


def measured(result: TrialResult, layout: Layout, bands: int, tolerance: float) -> Iterator[dict]:
    """A row for each band of one trial."""
    trial = result.trial
    family = family_of(trial)
    tensors = read_published(layout, str(result.artefact))
    network = family.member(0)
    state = {n.removeprefix(PREFIX): v for n, v in tensors.items() if n.startswith(PREFIX)}
    network.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
    network.eval().requires_grad_(False)
    train = dataset(trial, family.shape, "train", trial.protocol.train)
    rotation = rotation_for(
        family, train, trial.rotation, geometry=trial.geometry, rank=trial.rank, seed=trial.seed
    )
    held_out: Dataset = dataset(trial, family.shape, "held-out", None)
    if held_out.law is not None or not (rotation is None or rotation.keeps_noise):
        return

    def predict(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return network(x, t) if rotation is None else rotation.inverse(network(rotation(x), t))

    risk = measure_risk(
        predict,
        reference_for(held_out),
        family.schedule,
        family.shape,
        directions=Cosines(family.shape, bands),
        tolerance=tolerance,
        seed=trial.seed,
    )
    about = {
        "id": result.id,
        "network": str(trial.network),
        "data": str(trial.data),
        "rotation": trial.rotation,
        "iterations": trial.protocol.iterations,
        "seed": trial.seed,
    }
    rows = zip(risk.labels, risk.widths, risk.by_direction, risk.by_direction_error, strict=True)
    for label, width, value, error in rows:
        yield about | {
            "directions": label,
            "width": int(width),
            "loss": f"{value:.6g}",
            "error": f"{error:.2g}",
        }


def main() -> None:
    """Measure what is not in the table yet."""
    parser = argparse.ArgumentParser(description="held-out loss by direction of kept networks")
    parser.add_argument("sweep", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bands", type=int, default=16)
    parser.add_argument("--tolerance", type=float, default=0.02)
    given = parser.parse_args()
    rows: list[dict] = []
    if given.out.exists():
        with given.out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    known, layout = {row["id"] for row in rows}, Layout(given.sweep)
    for path in sorted((given.sweep / "results").glob("*.json")):
        result = read_result(path)
        if result.id in known or result.artefact is None:
            continue
        rows += measured(result, layout, given.bands, given.tolerance)
        if rows:
            with given.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
