"""Well-known score networks, small, of which the doctor may say nothing above a note.

Each is written here from published facts: its blocks, its norms, how the time enters, and above all
how it is initialised, for that is what an examination before training can be misled by.
"""

import json
from functools import partial
from pathlib import Path

import sads
from sads.networks import ScoreFamily
from tests.doctor import other_nets, transformers, u_nets

UNET2D = {
    "_class_name": "UNet2DModel",
    "sample_size": 8,
    "in_channels": 3,
    "out_channels": 3,
    "block_out_channels": [16, 32],
    "layers_per_block": 1,
    "norm_num_groups": 4,
    "down_block_types": ["DownBlock2D", "AttnDownBlock2D"],
    "up_block_types": ["AttnUpBlock2D", "UpBlock2D"],
}
CONDITION = {
    **UNET2D,
    "_class_name": "UNet2DConditionModel",
    "attention_head_dim": 8,
    "cross_attention_dim": 8,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"],
    "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"],
}
DIT = {
    "_class_name": "DiTTransformer2DModel",
    "sample_size": 8,
    "in_channels": 1,
    "out_channels": 2,
    "num_attention_heads": 2,
    "attention_head_dim": 16,
    "num_layers": 2,
    "patch_size": 2,
    "norm_num_groups": 8,
    "num_embeds_ada_norm": 10,
}
CONFIGURATIONS = {"UNet2DModel": UNET2D, "UNet2DConditionModel": CONDITION, "DiT2D": DIT}

GREY, COLOUR = (1, 8, 8), (3, 8, 8)
FACTORIES = {
    "DDPM": (u_nets.DDPM, GREY),
    "score_sde DDPM": (u_nets.ScoreSDE, GREY),
    "score_sde NCSN++": (u_nets.NCSNpp, GREY),
    "EDM SongUNet": (lambda: u_nets.Preconditioned(u_nets.SongUNet()), GREY),
    "EDM SongUNet, bare": (lambda: u_nets.SongUNet(3), COLOUR),
    "EDM2": (u_nets.EDM2, GREY),
    "ADM": (u_nets.ADM, GREY),
    "ADM, checkpointed": (u_nets.CheckpointedADM, GREY),
    "consistency model": (lambda: u_nets.Consistency(u_nets.ADM()), GREY),
    "denoising-diffusion-pytorch": (u_nets.Lucidrains, GREY),
    "score tutorial": (other_nets.ScoreTutorial, GREY),
    "NCSN": (other_nets.NCSN, GREY),
    "NCSNv2": (lambda: other_nets.NCSN(second=True), GREY),
    "Diffuser": (other_nets.Temporal, (2, 16)),
    "DiT": (transformers.DiT, GREY),
    "SiT": (lambda: transformers.DiT(unit_time=True), GREY),
    "U-ViT": (transformers.UViT, GREY),
    "DiffWave": (other_nets.DiffWave, (1, 32)),
    "CSDI": (other_nets.CSDI, (1, 6, 8)),
    "TabDDPM": (other_nets.TabDDPM, (12,)),
    "Fourier MLP": (other_nets.FourierMLP, (2,)),
}


# Those that output nothing of their own at the start.
SILENT = ("EDM2", "ADM", "ADM, checkpointed", "consistency model", "DiT", "SiT", "DiffWave", "CSDI")

# Plain modules with a defect that no training mends, and what must be said of them.
DEFECTIVE = {
    "no time": {"time-blind": "warning"},
    "one channel a group": {"time-blind": "warning"},
    "zeros in a row": {"zero-output": "note", "input-blind": "error", "time-blind": "warning"},
}


def well_known(name: str, folder: Path) -> ScoreFamily:
    """The family of a name; configurations are written into a folder."""
    if name in CONFIGURATIONS:
        path = folder / "configuration.json"
        path.write_text(json.dumps(CONFIGURATIONS[name]))
        return sads.network(f"diffusers:{path}")
    factory, shape = FACTORIES[name]
    return sads.network(factory, shape=shape)


def defective(name: str) -> ScoreFamily:
    """The family of a defect."""
    return sads.network(partial(u_nets.Plain, name), shape=GREY)
