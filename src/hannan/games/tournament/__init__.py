"""Everyone against everything: `field` has who plays, `arenas` what they meet, `playing` holds it, `page` shows it."""
