"""A Python language host for machines that lack the official one, on the SDK's own language server.

It runs programs, policy packs and hosted components. What it does not do: install dependencies, list a program's packages or
required plugins (the engine asks for a plugin when the first resource needs it, and finds it on PATH), attach a debugger,
generate code or projects, pack or link SDKs. tools/toolchain puts it on PATH only where the official host is missing.

It runs under the interpreter of the repository's virtual environment, or $GPUFABRIC_PYTHON. A project whose runtime option
`virtualenv` names another one gets its program and plugins run there.
"""
