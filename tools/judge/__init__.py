"""Holds recorded requests against a vendor's published API model: what a cloud's own API says is wrong, without an account.

``walker`` knows no cloud. A cloud brings a ``Model`` (what a request means, and the shape of its members) and a ``Book`` (which
requests bring what into being).
"""
