"""What lab 07 measures of students' policies, by name (`FabricSystem.measures`).

A policy that is asked once, as for a tree, is called. One that decides for every cell is asked
beforehand, for each state that there is: the simulator gets a table.
"""
