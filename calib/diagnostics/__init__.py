"""One file for each question about a fitted method: reliability, over- and underconfidence, latent function, shift."""
