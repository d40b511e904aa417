"""Other ways through the same plan: batch services, copies of the study, a cluster."""
