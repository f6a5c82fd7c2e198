from __future__ import annotations

import re

import pytest
import tensorflow as tf

from calib.gp import device


def test_there_is_always_a_cpu_in_words():
    cpu = device.list_devices()[-1]
    assert cpu.kind == "cpu"
    assert re.fullmatch(r"CPU \(\d+ cores?\)", cpu.description)


@pytest.mark.parametrize("preference", ["auto", "cpu", "gpu"])
def test_without_a_gpu_every_preference_gives_the_cpu(preference, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    assert device.choose(preference).kind == "cpu"


def test_a_gpu_is_chosen_named_and_its_memory_set_to_grow(monkeypatch):
    grown = []
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: {"device_name": "Test GPU"})
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, on: grown.append((gpu, on)))
    assert device.choose("auto") == device.Device("/GPU:0", "gpu", "Test GPU")
    assert grown == [("one", True)]
    assert device.choose("cpu").kind == "cpu"


def test_a_gpu_already_in_use_is_no_error(monkeypatch):
    def refuse(*_):
        raise RuntimeError("Physical devices cannot be modified after being initialized")

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", refuse)
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", refuse)
    assert device.choose("gpu").description == "GPU"
