"""One topic of the report a file: what was found, as values, and the section that says it."""
