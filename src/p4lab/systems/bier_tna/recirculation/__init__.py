"""Recirculation: formulas, limits, simulation at 100 Gb/s, provisioning (docs/recirculation.md).

"The paper" is Merling, Lindner, Menth: Hardware-Based Evaluation of Scalable and Resilient
Multicast With BIER in P4, IEEE Access 2021. Next hops are numbered from 1, as they are served.
"""
