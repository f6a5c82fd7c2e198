"""Files of strangers are read by processes that are thrown away."""
