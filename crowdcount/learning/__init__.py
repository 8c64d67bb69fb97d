"""Learning from labels: data sets, training, and what is told about labels and made of models."""
