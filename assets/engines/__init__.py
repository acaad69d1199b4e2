"""The engines that evaluators call in a run, over the ledger of the warehouse."""
