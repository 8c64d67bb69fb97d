"""Simulated cameras: clips with people of known number and place, and counts of weeks. See README.md here."""
