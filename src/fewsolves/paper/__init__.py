"""The experiments of the paper, run again and laid beside its printed figures: one file per table or figure."""
