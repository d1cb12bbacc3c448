"""The ledger: the durable record of everything paid for, an SQLite file that outlives crashes and versions.

`ledger.Ledger` is looked up before a call and written before its answer is used; begin there, then `sqlite` (rows,
schema, versions) and `identity` (whose ledger it is). Only this package touches SQLite. The oracle, fitting and
commands import its modules by name; worker processes never do, so nothing is imported here.
"""
