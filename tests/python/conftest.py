"""What all Python tests share."""

from hypothesis import settings

# A busy machine must not fail a property, and a failure must be repeatable from its message.
settings.register_profile("p4lab", deadline=None, print_blob=True)
settings.register_profile("soak", parent=settings.get_profile("p4lab"), max_examples=3000)
settings.load_profile("p4lab")
