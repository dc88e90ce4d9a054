"""Work that is shared out: among processes of this machine or the workers of a Dask cluster, with a
journal to go on from. Classes are graded this way, and experiments with many points are run."""
