"""Audits of stability claims: exact for the learners of this library, by sampling for any other learner."""
