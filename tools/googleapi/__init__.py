"""A stand-in of Google's APIs on this machine's loopback, for Google's own provider.

    provider --HTTP--> server --request--> account --paths and bodies--> store (SQLite)

Every request is first held against the API that Google publishes (tools/judge/google): an unknown member, a wrong type or
value, or a name that nothing has is refused in Google's form. What is left does what Google would do to the thing, as far as a
provider can see it: operations have to be waited for, defaults appear, what is in use cannot be deleted.
"""
