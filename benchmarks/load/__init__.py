"""Load: real Streamlit sessions, opened and used without a browser. `python -m benchmarks.load`."""
