"""Whether an answer holds: each cure is run, and the answer says what it changed."""
