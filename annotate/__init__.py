"""People: pairs in, votes out. Nothing here can import a judge's verdict."""
