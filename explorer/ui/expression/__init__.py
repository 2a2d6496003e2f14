"""The Expression page, part by part."""
