"""What the home page shows."""
