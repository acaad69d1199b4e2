"""Cells of tables: lists in texts, and workbooks of Excel."""
