"""Programs for users beside the main files. Each says with --help what it does: python -m tools.NAME --help."""
