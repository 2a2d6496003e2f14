"""Programs that use what PyTorch has added to autograd in the last years, one a file."""
