"""Decisions that survive: a journal, a store, and a service."""
