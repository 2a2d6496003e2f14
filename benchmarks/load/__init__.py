"""Load test with real Streamlit sessions, without a browser: `python -m benchmarks.load`."""
