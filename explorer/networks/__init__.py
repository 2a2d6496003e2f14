"""Models and their data: presets, per-layer records, hook events, cost, histograms, graphs."""
