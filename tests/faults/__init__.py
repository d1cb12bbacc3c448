"""Faults: what goes wrong around a training run, one test for each way, with the behaviour that is promised.

Letters name the kind: A a killed or full machine, B a solver that misbehaves, C a cluster that loses nodes, D numbers
and data, E input that means harm.
"""
