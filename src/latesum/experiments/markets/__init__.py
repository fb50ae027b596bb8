"""Simulated markets: their policies, runs and measures."""
