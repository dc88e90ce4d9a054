"""What is made of verdicts: reports for students, a summary of the class, files for other systems.

Writers are functions from verdicts to text. None of them knows the case that a student must not
see: what is handed to students is written from `view.for_student(verdict)`.
"""
