"""Faults put into the product on purpose, to see that something notices."""
