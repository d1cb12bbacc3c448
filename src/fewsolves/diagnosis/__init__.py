"""The doctor: some fifty solves tell whether a problem can be trained on, and what stands in the way.

Begin with `doctor.doctor`; `trials` pays, `questions` reads what came of it, `finding` prints it.
"""
