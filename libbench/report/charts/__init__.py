"""Charts of a comparison and of a list, as records that a page or a file of its own can show."""
