"""What the benchmark of timing compares."""
