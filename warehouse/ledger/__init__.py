"""The ledger of judge replies and its journal on disk."""
