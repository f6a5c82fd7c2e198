"""Which device TensorFlow computes on, in words."""

from __future__ import annotations

import os
from dataclasses import dataclass

# TensorFlow reports every start-up detail on stderr unless told before it is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf


@dataclass(frozen=True)
class Device:
    """A device that can fit.

    Attributes
    ----------
    name : TensorFlow's name for it.
    kind : "cpu" or "gpu".
    description : what a person calls it, such as "CPU (2 cores)" or the GPU's model.
    """

    name: str
    kind: str
    description: str


def list_devices() -> list[Device]:
    """The devices of this machine, GPUs first; there is always a CPU."""
    return [*_gpus(), Device("/CPU:0", "cpu", _cpu_description())]


def choose(preference: str = "auto") -> Device:
    """The first GPU for "auto" and "gpu" where there is one, else the CPU; never fails.

    GPU memory is set to grow on demand and TensorFlow to one thread, as far as it has not started yet: on
    matrices of this size a second thread costs more than it gives.
    """
    _limit_threads()
    devices = list_devices()
    chosen = devices[-1] if preference == "cpu" else devices[0]
    if chosen.kind == "gpu":
        _grow_memory()
    return chosen


def _gpus() -> list[Device]:
    found = []
    for index, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        try:
            model = tf.config.experimental.get_device_details(gpu).get("device_name", "GPU")
        except (RuntimeError, ValueError):
            model = "GPU"
        found.append(Device(f"/GPU:{index}", "gpu", str(model)))
    return found


def _cpu_description() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"CPU ({cores} core{'s' if cores > 1 else ''})"


def _limit_threads() -> None:
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        return  # TensorFlow has started already; its threads stay as they are.


def _grow_memory() -> None:
    try:
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError:
        return  # The GPU is in use already; its memory stays as it is.
