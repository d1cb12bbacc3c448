"""The doctor: about fifty solves show whether a problem can be trained on, and what prevents it.

Begin with `doctor.doctor`; `trials` pays, `questions` reads what came of it, `finding` prints it.
"""
