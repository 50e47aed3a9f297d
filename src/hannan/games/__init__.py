"""Games by the dozen: `compare` plays learners against environments, `sweep` plays a whole grid and can go on."""
