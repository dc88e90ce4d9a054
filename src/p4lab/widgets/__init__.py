"""Views for notebooks. Each shows what the engine's traces say and nothing else.

A view is a Python class that turns traces into plain data (`data`, synchronised), an ES module in
`js/` that draws them, and a static picture for where scripts do not run.
"""
