"""The methods: one file for each, one package for each large one. GPflow and TensorFlow are imported here alone."""
