"""A package of its own: another distribution's `tests` must not stand in its place."""
