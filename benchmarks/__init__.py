"""Measure what streamcite costs: named shapes of input, and ratios within one run."""
