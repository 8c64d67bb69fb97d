"""Alarms: what too crowded means is learnt from operators' rough calls, and footage is watched for it."""
