"""What a run does: its calls, tensors, events and passes, as the recorder sees them."""
