"""The systems that are taught, a package each. Nothing outside imports one: see p4lab.registry.

A system is `NAME/__init__.py` with one subclass of `p4lab.model.system.System`, and whatever it
needs beside that. It may use model, topology, control and packets; its experiments, verbs and views
also the layers above, which is why they are named there and imported when asked for.
"""
