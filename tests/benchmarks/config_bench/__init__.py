"""What the benchmarks share: tables with bars, and what those of the config layer measure and beside whom."""
