"""One page that a browser shows without asking for anything else."""
