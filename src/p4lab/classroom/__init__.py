"""One server for a class: JupyterHub, an account for each student, what they hand in, and a page
for their instructor (docs/machine.md).

Students are users of the system, who cannot read each other's files. The hub starts their servers
and is root, as only root may start a process as somebody else; everything else that is not a
student's runs as the user `p4lab-class`.
"""
