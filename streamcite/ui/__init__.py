"""Answers for front ends: events as the protocol that one speaks, one file each."""
