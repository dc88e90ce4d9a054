"""Labs as data, and what it means to run one.

`plan` reads a lab's `lab.toml` and decides who sends what to whom, `runner` lets it happen on a
network, and `report` compares what happened with what should have happened.
"""
