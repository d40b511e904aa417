"""The model: verdicts and reports out; may use `annotate`, never the other way."""
