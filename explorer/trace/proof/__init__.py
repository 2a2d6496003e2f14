"""Whether an answer holds: each cure is run, and what it changed is told."""
