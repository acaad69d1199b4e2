"""The ledger: the store of all paid calls, shared by all processes of a project."""
