"""The parts of the Feature maps page: the image, the network, its layers, the prediction."""
