"""Other readings of the paper's text than the preset `gp-surrogate-paper`, as a method of the studies."""
