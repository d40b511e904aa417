"""The `evenhand` commands: options in, one function called, words out."""
