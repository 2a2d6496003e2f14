"""What is drawn on the operator's page."""
