"""What a person or a program reads of a comparison."""
