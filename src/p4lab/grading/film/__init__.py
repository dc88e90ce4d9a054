"""A failed check as a film: one packet, step by step through the student's program, up to where its
way and the reference's part, and what should have come out beside what did.

A film shows what a story tells and nothing more of the reference: values that it expects, never
a line of it, nor a step that the student's program does not make.
"""
