"""What a reader sees: the figures of a study as text, pages, tables and pictures."""
