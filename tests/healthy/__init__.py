"""Programs that are right, for which no explanation may appear."""
