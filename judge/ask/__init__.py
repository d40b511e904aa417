"""What the judge is asked and what its words mean: no database, endpoint or command line."""
