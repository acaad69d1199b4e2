"""The ledger of a warehouse: where it is, and the tables that are filled from it."""
