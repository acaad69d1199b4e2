"""Judge calls: the asset that makes them, their budget, the dry run and the robustness check."""
