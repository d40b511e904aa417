"""The judge's tables in the study's file, and what is read from them."""
