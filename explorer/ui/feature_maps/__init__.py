"""The parts of the Feature maps page: the picture, the network, what each layer sees, and why."""
