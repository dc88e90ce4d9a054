# Given to `jupyterhub -f`: everything is in p4lab.classroom.hub.
from p4lab.classroom.hub import configure

configure(get_config())  # type: ignore[name-defined]  # noqa: F821
