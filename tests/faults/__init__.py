"""Faults injected into the product, to check that tests notice them."""
