"""Mutation testing: what could be wrong in the core without a test noticing."""
