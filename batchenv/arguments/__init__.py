"""What users pass: numbers, seeds, settings, checked; and what errors say about names that are unknown."""
