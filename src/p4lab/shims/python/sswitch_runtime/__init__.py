"""What simple_switch adds: mirroring, queues, time."""
