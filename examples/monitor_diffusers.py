"""The training script style of diffusers with accelerate, with a monitor.

    accelerate launch examples/monitor_diffusers.py runs/monitor

Every process updates its own monitor; `reduce` adds them up, on all processes at once.
"""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel
from torch import Tensor
from torch.utils.data import DataLoader

import sads


def model() -> UNet2DModel:
    """A U-Net that fits into a test."""
    return UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
    )


def train(directory: str, images: Tensor, *, epochs: int = 1, batch: int = 32) -> None:
    """The loop of the diffusers examples, watched."""
    accelerator = Accelerator()
    unet, scheduler = model(), DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
    loader = DataLoader(images, batch_size=batch, shuffle=True)  # pyright: ignore[reportArgumentType]
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    monitor = sads.Monitor((1, 8, 8), data=images, every=5)
    for _ in range(epochs):
        for clean in loader:
            noise = torch.randn_like(clean)
            timesteps = torch.randint(0, 1000, (len(clean),), device=clean.device)
            noisy = scheduler.add_noise(clean, noise, timesteps)
            prediction = unet(noisy, timesteps, return_dict=False)[0]
            loss = torch.nn.functional.mse_loss(prediction, noise)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(unet.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            monitor.update(prediction, noise, timesteps)
    record = monitor.reduce() if accelerator.num_processes > 1 else monitor.record
    if accelerator.is_main_process:
        Path(directory).mkdir(parents=True, exist_ok=True)
        record.report(Path(directory) / "training.html", force=True)


if __name__ == "__main__":
    from monitor_pytorch import images as digits

    train(sys.argv[1] if len(sys.argv) > 1 else "runs/monitor", digits())
