"""The judge: a language model that is asked for verdicts, and the ledger of what it said."""
