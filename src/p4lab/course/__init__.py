"""A lab as teaching material: what a student gets, and how it is cut from what solves it."""
