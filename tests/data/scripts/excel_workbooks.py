# ruff: noqa: DTZ001 - Excel has no zones
"""Write the Excel files that tests read: `python excel_workbooks.py OUT`.

It needs openpyxl and XlsxWriter.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, time
from pathlib import Path

import openpyxl
import xlsxwriter


def questions(path: Path) -> None:
    """Write questions with openpyxl: numbers as ids, dates, an empty row, more sheets."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Questions"
    sheet.append(["question_id", "question", "expected_answer", "gold_doc_ids", "asked", "share"])
    day = date(2026, 1, 31)
    sheet.append([1, "What is a group of crows called?", "a murder", "['kb/1', 'kb/2']", day, 0.25])
    sheet.append([])
    sheet.append([2, "How many?\nIn words?", 42, '["kb/3"]', datetime(2026, 2, 1, 9, 30), True])
    sheet.append(["q-3", "=not a formula", 1.5, None, time(9, 30), 1e-7])
    sheet["B5"].data_type = "s"
    hidden = book.create_sheet("Notes", 0)
    hidden["A1"] = "hidden"
    hidden.sheet_state = "hidden"
    book.create_sheet("More")["A1"] = "another sheet"
    book.active = 1
    book.save(path)


def predictions(path: Path) -> None:
    """Write predictions with XlsxWriter: a table that begins in B3, formulas with results."""
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Answers")
    percent = book.add_format({"num_format": "0 %"})
    for at, name in enumerate(["question_id", "answer", "latency_s", "cost_usd", "docs"]):
        sheet.write(2, 1 + at, name)
    sheet.write_row(3, 1, [1, "A murder."])
    sheet.write_formula(3, 3, "=1+0.5", None, 1.5)
    sheet.write(3, 4, 0.25, percent)
    sheet.write(3, 5, "kb/1; kb/9")
    sheet.write_row(4, 1, [2])
    sheet.write_formula(4, 2, '=UPPER("two")', None, "TWO")
    sheet.write_row(5, 1, ["q-3", "So.", 2, 0, "kb/3"])
    book.close()


def faults(path: Path) -> None:
    """Write rows with openpyxl that cannot be read: formulas without results, and errors."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["question_id", "question"])
    sheet.append(["a", '="Wh"&"y?"'])
    sheet.append(["b", "#N/A"])
    sheet["B3"].data_type = "e"
    sheet.append(["c", "Why?", "no header"])
    sheet.append(["d", "Why?"])
    book.save(path)


def far(path: Path) -> None:
    """Write a workbook with XlsxWriter whose cells are far from each other."""
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["question_id", "question"])
    sheet.write_row(1_048_575, 0, ["a", "Why?"])
    sheet.write(1, 500, "far")
    book.close()


def main(out: Path) -> None:
    """Write all files."""
    out.mkdir(parents=True, exist_ok=True)
    questions(out / "questions.xlsx")
    predictions(out / "predictions.xlsx")
    faults(out / "faults.xlsx")
    far(out / "far.xlsx")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
