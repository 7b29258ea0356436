"""Where two sides part: which module, and which operator."""
