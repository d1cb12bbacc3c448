"""The commands of `fewsolves`, one file each: the file `train.py` has the click command `train`, and `cli` finds it.

Another package adds a command by an entry point of the group `fewsolves.commands`.

Begin with `train.py`; options that several share are in `options.py`. Only `cli` imports this folder. What a command
needs beyond its options is imported inside it, so that `fewsolves --help` answers at once.
"""
