"""Whose ledger it is: the fingerprint of a problem's functions and data, and of what they read without saying so.

Begin with `fingerprint.py`; `held_data.py` finds what functions read, `assigned.py` what they assign themselves.
Nothing here touches SQLite.
"""
