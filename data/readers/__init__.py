"""Readers of the file formats that raw data comes in."""
