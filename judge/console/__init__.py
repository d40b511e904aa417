"""The owner's page: progress, agreement, runs of a judge and what stands behind its verdicts."""
