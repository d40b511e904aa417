"""Statistics on plain sequences and arrays, one family a file. Pure: no table, database or page."""
