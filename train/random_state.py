"""All random states of a run: set from the seed, saved with a checkpoint, put back when the run goes on."""

import random

import dgl
import numpy as np
import torch


def seed_all(seed):
    """Every generator from one number. A main file calls it before it builds the net, so that a run depends on nothing else."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    dgl.seed(seed % 2**31)


def make_deterministic(device):
    """Makes torch use algorithms that give the same bits on each run. On the CPU only: CUDA lacks some."""
    if device.type == "cpu":
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # costs time, and no code of ours reads such memory


def get_random_state():
    """The states of python, numpy and torch (CPU and every GPU), in plain types that `torch.load(weights_only=True)` reads."""
    name, key, *rest = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": [name, torch.from_numpy(key.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state):
    random.setstate(state["python"])
    name, key, *rest = state["numpy"]
    np.random.set_state((name, key.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    # a run may go on where there are fewer or no GPUs; it is then a different computation anyway
    for device, cuda_state in enumerate(state["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(cuda_state, device)
