"""Mutation testing: what of the core could be wrong without a test that notices."""
