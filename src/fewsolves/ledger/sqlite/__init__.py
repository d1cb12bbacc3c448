"""The SQLite file of a ledger: its schema and versions, its rows, and the tables beside them.

Begin with `file.py` (opened, scanned) and `migrate.py` (schema and versions); `rows.py` is one call, `writer.py` makes
rows durable, `index.py` says where to look, `description.py`, `charges.py` and `measured.py` are the smaller tables.
"""
