"""See what PyTorch's autograd does. The library works without Streamlit."""
