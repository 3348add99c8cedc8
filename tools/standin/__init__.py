"""A stand-in for any cloud's Pulumi provider: the real engine talks to it, its cloud is a SQLite file and a TOML description.

It shows what the *engine* does with a program: order, references, faults, resumption, deletion. Whether a vendor would take a
request is not its business; the judged rung asks the vendor's published API model.
"""
