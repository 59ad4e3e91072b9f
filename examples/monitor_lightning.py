"""A Lightning callback around a monitor; copy it into a project that uses Lightning.

`training_step` returns what a monitor needs besides the loss:

    return {"loss": loss, "prediction": prediction, "target": noise, "t": t}

    trainer = Trainer(callbacks=[MonitorCallback((3, 32, 32), "runs/monitor")])

Without Lightning the class can still be used by any loop that calls its methods.
"""

from pathlib import Path
from typing import Any

import sads

try:
    from lightning.pytorch import Callback
except ImportError:
    Callback = object


class MonitorCallback(Callback):
    """Keeps a monitor over a training, and writes its page at the end of every epoch.

    Args:
        shape: shape of one sample.
        directory: where everything is kept; give it to the first process alone.
        data: samples of the training data, to know how much of the loss cannot be avoided.
    """

    def __init__(self, shape: tuple[int, ...], directory: str | Path, *, data: Any = None):
        super().__init__()
        self.shape, self.directory, self.data = shape, Path(directory), data
        self.monitor: sads.Monitor | None = None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Start watching, where the process is the first one."""
        if getattr(trainer, "is_global_zero", True):
            self.monitor = sads.Monitor(self.shape, data=self.data, out=self.directory)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add what the training step returned."""
        if self.monitor is not None:
            self.monitor.update(outputs["prediction"], outputs["target"], outputs["t"])

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the page."""
        if self.monitor is not None:
            self.monitor.report(self.directory / "training.html")

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Let go of the directory."""
        if self.monitor is not None:
            self.monitor.close()
