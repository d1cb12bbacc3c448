"""With PyEPO: its models as problems (`problem`), and losses of ours in its training loop (`loss`).

Nothing here imports PyEPO, which takes seconds and brings solvers of its own: only methods of its objects are called.
"""
