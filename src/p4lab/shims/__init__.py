"""Programs that are called as p4c and bmv2 call theirs, and run p4lab: `p4lab shims`."""
