"""A fitted calibrator as an ONNX model, alone or behind the model that it calibrates; needs the package onnx."""
