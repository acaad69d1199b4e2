"""The ledger: one durable store of judge calls, shared by all processes of a project."""
