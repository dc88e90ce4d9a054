"""Tofino, the real one: bf-p4c compiles, its model or a switch in a rack forwards, BFRT drives it.

    chip, rack      which port of the chip is where: data in `hw/`, checked
    rows, schema    the entries of the control plane as rows of BFRT tables
    plan            all that is done to a switch, in order, before anything is done: `--dry-run`
    bfrt, sde       what is asked of a BFRT client, and the SDE's own client that does it
    journal         how the switch was before, so that it can be put back
    driver          what a control plane writes through
    tools, model, wedge   the SDE's programs; a network of models; a rack

Nothing of the SDE is imitated: where it is missing, the run stops and says what to install.
"""
