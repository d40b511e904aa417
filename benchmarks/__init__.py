"""Side-by-side measurements; not timed tests. Run with `make bench`."""
