"""The development suite: it resumes, is seeded, and counts lock-ins that are there."""
