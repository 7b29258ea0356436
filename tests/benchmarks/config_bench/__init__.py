"""What the benchmarks of the config layer share."""
