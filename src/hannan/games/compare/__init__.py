"""`hn.compare`: several learners on several environments."""
