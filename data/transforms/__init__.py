"""What is computed from a graph: rows of a new field (positional encodings), each a plain function of one graph."""
