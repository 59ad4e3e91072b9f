"""The examples of training loops with a monitor, as they stand."""

import importlib.util
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import sads
from tests.docs import ROOT


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def test_a_plain_loop(tmp_path):
    example("monitor_pytorch").main(str(tmp_path / "monitor"), steps=60, batch=32)
    assert sads.load_record(tmp_path / "monitor").updates == 60
    page = (tmp_path / "monitor" / "training.html").read_text()
    assert "After 60 updates on 1x8x8 samples" in page


class Accelerator:
    """What the example uses of accelerate's class, on one process."""

    num_processes, is_main_process = 1, True

    def prepare(self, *objects):
        return objects

    def backward(self, loss):
        loss.backward()

    def clip_grad_norm_(self, parameters, norm):
        nn.utils.clip_grad_norm_(parameters, norm)


def test_the_style_of_diffusers_with_accelerate(tmp_path, monkeypatch):
    from diffusers import DDPMScheduler, UNet2DModel  # noqa: F401 - before the stand-in

    try:
        import accelerate  # noqa: F401
    except ImportError:
        monkeypatch.setitem(sys.modules, "accelerate", SimpleNamespace(Accelerator=Accelerator))
    images = example("monitor_pytorch").images()[:320]
    example("monitor_diffusers").train(str(tmp_path), images)
    assert "After 10 updates" in (tmp_path / "training.html").read_text()


def test_a_lightning_callback_in_a_loop_that_calls_it_as_lightning_does(tmp_path):
    callback = example("monitor_lightning").MonitorCallback((1, 4, 4), tmp_path)
    trainer = SimpleNamespace(is_global_zero=True)
    callback.on_fit_start(trainer, None)
    for number in range(8):
        target = torch.randn(16, 1, 4, 4)
        outputs = {"prediction": 0.5 * target, "target": target, "t": torch.randint(1000, (16,))}
        callback.on_train_batch_end(trainer, None, outputs, None, number)
    callback.on_train_epoch_end(trainer, None)
    callback.on_fit_end(trainer, None)
    assert sads.load_record(tmp_path).updates == 8
    assert (tmp_path / "training.html").is_file()
    other = example("monitor_lightning").MonitorCallback((1, 4, 4), tmp_path)
    other.on_fit_start(SimpleNamespace(is_global_zero=False), None)  # not the first process
    other.on_train_batch_end(trainer, None, {}, None, 0)
    assert other.monitor is None


@pytest.mark.filterwarnings("ignore")  # Lightning warns of torch, of loaders and of itself
def test_the_callback_under_lightning(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    plain = example("monitor_pytorch")
    data = plain.images()[:320]

    class Denoising(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = plain.Denoiser(8)
            self.register_buffer("abar", torch.from_numpy(sads.Schedule().abar).float())

        def training_step(self, clean, _):
            noise, t = torch.randn_like(clean), torch.randint(1000, (len(clean),))
            level = self.abar[t].view(-1, 1, 1, 1)
            prediction = self.network(level.sqrt() * clean + (1 - level).sqrt() * noise, t)
            loss = nn.functional.mse_loss(prediction, noise)
            return {"loss": loss, "prediction": prediction, "target": noise, "t": t}

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    callback = example("monitor_lightning").MonitorCallback((1, 8, 8), tmp_path, data=data)
    trainer = lightning.Trainer(
        max_epochs=2,
        callbacks=[callback],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(Denoising(), torch.utils.data.DataLoader(data, batch_size=32))
    assert sads.load_record(tmp_path).updates == 20
    assert "After 20 updates on 1x8x8 samples" in (tmp_path / "training.html").read_text()
