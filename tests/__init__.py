"""A package, not a bare folder: `ppi-python` installs a package of this name, and would win."""
