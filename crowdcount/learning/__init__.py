"""Learning from labels: data sets, training, and what is told about labels and made of models."""

#: Blocks of a cross-validation.
N_BLOCKS = 5
#: With fewer labels there is nothing to validate on.
MIN_LABELS = 2 * N_BLOCKS
#: With fewer counts to recalibrate by, leaving one out leaves too little to judge by.
MIN_COUNTS = 3
