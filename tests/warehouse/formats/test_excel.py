"""Excel files are read like CSV, from workbooks that openpyxl and XlsxWriter wrote."""

from __future__ import annotations

import gzip
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from warehouse.errors import InputError
from warehouse.formats import deepeval
from warehouse.formats.canonical import read_documents, read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.readers.cells import excel, worksheet

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("python_calamine")

REAL = Path(__file__).parents[2] / "data" / "real" / "excel"


def parts(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(REAL / name) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def workbook(path: Path, given: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in given.items():
            archive.writestr(name, part)
    return path


def sheet(path: Path, rows: list[list[str]], **changed: bytes) -> Path:
    """Write a workbook whose sheet has these texts, after one that openpyxl wrote."""
    given = parts("faults.xlsx")
    cells = "".join(
        f'<row r="{y}">'
        + "".join(
            f'<c r="{chr(65 + x)}{y}" t="inlineStr"><is><t>{text}</t></is></c>'
            for x, text in enumerate(row)
        )
        + "</row>"
        for y, row in enumerate(rows, start=1)
    )
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = f'<worksheet xmlns="{space}"><sheetData>{cells}</sheetData></worksheet>'
    given["xl/worksheets/sheet1.xml"] = text.encode()
    return workbook(path, given | changed)


def reason(given: Iterator[Any]) -> str:
    with pytest.raises(InputError) as caught:
        list(given)
    (problem,) = caught.value.problems
    return problem.message


def test_cells_are_read_as_csv_would_write_them() -> None:
    source = Source(REAL / "questions.xlsx")
    found = list(read_questions(source))
    assert [each.line for each in found] == [2, 4, 5]  # the third row is empty
    records = [each.record for each in found if isinstance(each, Read)]
    assert [each.question_id for each in records] == ["1", "2", "q-3"]
    assert [each.question for each in records] == [
        "What is a group of crows called?",
        "How many?\nIn words?",
        "=not a formula",
    ]
    assert [each.expected_answer for each in records] == [["a murder"], ["42"], ["1.5"]]
    assert [each.gold_doc_ids for each in records] == [["kb/1", "kb/2"], ["kb/3"], None]
    assert [each.extra for each in records] == [
        {"asked": "2026-01-31", "share": "0.25"},
        {"asked": "2026-02-01T09:30:00", "share": "true"},
        {"asked": "09:30:00", "share": "1e-07"},
    ]
    # `Notes` comes first, but is hidden.
    assert source.notes == ["the first sheet, 'Questions', is read, not 'More'"]


def test_a_table_may_begin_anywhere_and_formulas_have_their_results() -> None:
    source = Source(REAL / "predictions.xlsx", "s", columns={"docs": "retrieved.doc_id"})
    found = list(read_predictions(source))
    assert [each.line for each in found] == [4, 5, 6]
    records = [each.record for each in found if isinstance(each, Read)]
    assert [each.answer for each in records] == ["A murder.", "TWO", "So."]
    assert [each.latency_s for each in records] == [1.5, None, 2.0]
    assert [each.cost_usd for each in records] == [0.25, None, 0.0]
    docs = [[item.doc_id for item in each.retrieved or []] for each in records]
    assert docs == [["kb/1", "kb/9"], [], ["kb/3"]]


def test_cells_without_a_value_are_named() -> None:
    found = list(read_questions(Source(REAL / "faults.xlsx")))
    assert [(each.line, each.reason) for each in found if isinstance(each, Reject)] == [
        (
            2,
            "cell B2: a formula without a stored result: open and save the file in a spreadsheet",
        ),
        (3, "cell B3: the formula gives the error #N/A"),
        (4, "column C has no name in the header, but the value 'no header'"),
    ]
    assert isinstance(found[3], Read)


def test_compressed_files_documents_and_other_formats(tmp_path: Path) -> None:
    path = sheet(tmp_path / "d.xlsx", [["doc_id", "text"], ["kb/1", "Crows are clever."]])
    (tmp_path / "d.xlsx.gz").write_bytes(gzip.compress(path.read_bytes()))
    for name in ("d.xlsx", "d.xlsx.gz"):
        (found,) = read_documents(Source(tmp_path / name))
        assert isinstance(found, Read)
        assert (found.record.doc_id, found.record.text) == ("kb/1", "Crows are clever.")
    path = sheet(tmp_path / "t.xlsx", [["input", "actual_output"], ["Why?", "So."]])
    (given,) = deepeval.read_predictions(Source(path, "s"))
    assert isinstance(given, Read)
    assert given.record.answer == "So."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["question_id", "a", "a"], ["1", "2", "3"]], "the header names the column 'a' twice"),
        ([["key", "question"], ["1", "2"]], "no column 'question_id'; found 'key', 'question'"),
    ],
)
def test_headers_are_checked(tmp_path: Path, rows: list[list[str]], said: str) -> None:
    assert reason(read_questions(Source(sheet(tmp_path / "q.xlsx", rows)))).startswith(said)


@pytest.mark.parametrize(
    "content",
    [b"", b"question_id,question\n", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600],
    ids=["empty", "CSV", "with a password"],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "q.xlsx"
    path.write_bytes(content)
    said = reason(read_questions(Source(path)))
    assert said.startswith("not an Excel workbook, or one that is damaged or has a password")


@pytest.mark.parametrize("missing", ["xl/workbook.xml", "xl/_rels/workbook.xml.rels"])
def test_damaged_workbooks_are_refused(tmp_path: Path, missing: str) -> None:
    given = parts("questions.xlsx")
    path = workbook(tmp_path / "a.xlsx", {n: p for n, p in given.items() if n != missing})
    assert "damaged" in reason(read_questions(Source(path)))
    whole = (REAL / "questions.xlsx").read_bytes()
    (tmp_path / "b.xlsx").write_bytes(whole[: len(whole) // 2])
    assert "damaged" in reason(read_questions(Source(tmp_path / "b.xlsx")))


def test_cells_far_from_each_other_are_refused() -> None:
    said = reason(read_questions(Source(REAL / "far.xlsx")))
    assert said.startswith("the values spread over 1,048,576 rows and 501 columns")


def test_what_expands_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "LONGEST_FILE", 200_000)
    rows = [["question_id", "question"], ["a", "x" * 300_000]]
    said = reason(read_questions(Source(sheet(tmp_path / "q.xlsx", rows))))
    assert said == "the workbook expands to more than 0 MiB, split it"


def test_a_size_that_is_not_true_is_refused(tmp_path: Path) -> None:
    """The archive says that the sheet is short, so that a reader would expand it all."""
    path = sheet(tmp_path / "q.xlsx", [["question_id", "question"], ["a", "x" * 300_000]])
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("xl/worksheets/sheet1.xml")
    size, short = (n.to_bytes(4, "little") for n in (info.file_size, 100))
    path.write_bytes(path.read_bytes().replace(size, short))
    assert "damaged" in reason(read_questions(Source(path)))


def test_a_text_that_many_cells_share_counts_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = parts("predictions.xlsx")
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 101))
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet_text = f'<worksheet xmlns="{space}"><sheetData>{cells}</sheetData></worksheet>'
    shared = f'<sst xmlns="{space}"><si><t>{"x" * 30_000}</t></si></sst>'
    given |= {
        "xl/sharedStrings.xml": shared.encode(),
        "xl/worksheets/sheet1.xml": sheet_text.encode(),
    }
    monkeypatch.setattr(excel, "LONGEST_FILE", 1_000_000)
    said = reason(read_questions(Source(workbook(tmp_path / "q.xlsx", given))))
    assert said == "the cells hold more than 0 MiB of text, split the workbook"


def test_entities_do_not_expand(tmp_path: Path) -> None:
    given = parts("questions.xlsx")
    levels = "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' if n else '<!ENTITY e0 "x">' for n in range(9)
    )
    text = given["xl/workbook.xml"].decode()
    head, _, body = text.rpartition("<workbook")
    body = f"<!DOCTYPE workbook [{levels}]><workbook{body}".replace("Questions", "&e8;")
    given["xl/workbook.xml"] = (head + body).encode()
    said = reason(read_questions(Source(workbook(tmp_path / "q.xlsx", given))))
    assert len(said) < 1000


def test_a_missing_reader_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    said = reason(read_questions(Source(REAL / "questions.xlsx")))
    assert said == "Excel files need `pip install 'scoreline[excel]'`"


def placed(path: Path, rows: str, head: str = "", **changed: bytes) -> Path:
    """Write a workbook whose sheet has these rows as XML."""
    given = parts("faults.xlsx")
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = f'{head}<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'
    given["xl/worksheets/sheet1.xml"] = text.encode()
    return workbook(path, given | changed)


def cell(text: str, place: str = "") -> str:
    return f'<c {place} t="str"><v>{text}</v></c>'


HEADER = f'<row r="1">{cell("question_id")}{cell("question")}</row>'
MANY = "".join(cell("x") for _ in range(900))


@pytest.mark.parametrize(
    "rows",
    [
        '<row><c r="xfd1048576" t="str"><v>x</v></c></row>',
        '<row><c t="str" r = "XFD1048576"><v>x</v></c></row>',
        f'<row r="1048576">{MANY}</row>',
        f'<row r="1048575"/><row>{MANY}</row>',
        f'<row r="1048576"><c r="AAA2"/>{cell("x")}</row>',
        '<row r="1048576"><c r="XFD1048576" t="str"><v></v></c></row>',
        '<x:row xmlns:x="x" r="1048576"><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>',
    ],
)
def test_far_cells_are_found_however_they_are_written(tmp_path: Path, rows: str) -> None:
    said = reason(read_questions(Source(placed(tmp_path / "q.xlsx", HEADER + rows))))
    assert said.startswith("the values spread over ")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ('<row><c r="XFD&#49;048576"><v>1</v></c></row>', "found 'XFD&#49;048576'"),
        ('<row><c r="1"><v>1</v></c></row>', "expected the place of a cell such as A1"),
        ('<row><c r="A0"><v>1</v></c></row>', "expected the place of a cell such as A1"),
        ('<row r="1e6"/>', "expected the number of a row, found '1e6'"),
        ('<row r="&#49;"/>', "expected the number of a row"),
        ('<row><c t="&#101;"><v>#N/A</v></c></row>', "expected the type of a cell"),
        (f"<row><x>{cell('x')}</x></row>", "an element 'c' of the sheet is not where it belongs"),
        ('<row><c t="s"><v>1<!-- -->0</v></c></row>', "expected the number of a text"),
        ("<row>", "mismatched tag"),
    ],
)
def test_places_that_cannot_be_understood_are_refused(tmp_path: Path, rows: str, said: str) -> None:
    found = reason(read_questions(Source(placed(tmp_path / "q.xlsx", HEADER + rows))))
    assert "damaged" in found
    assert said in found


def test_cells_without_a_place_are_counted(tmp_path: Path) -> None:
    rows = (
        f'{HEADER}<row r="3">{cell("a")}<c t="e"><v>#N/A</v></c></row>'
        f"<row>{cell('b')}<c><f>1+1</f><v></v></c></row>"
        f"<row>\n{cell('c')}\n{cell('Why?')}\n</row>"
        '<row><c r="a6" t="str"><v>d</v></c><c t="str"><f>""</f><v></v></c></row>'
        '<row r="9"><c r="B9"><f>1+1</f></c></row>'
    )
    found = list(read_questions(Source(placed(tmp_path / "q.xlsx", rows))))
    without = "a formula without a stored result: open and save the file in a spreadsheet"
    assert [(each.line, each.reason) for each in found if isinstance(each, Reject)] == [
        (3, "cell B3: the formula gives the error #N/A"),
        (4, f"cell B4: {without}"),
        (9, f"cell B9: {without}"),  # below the last value
    ]
    texts = [(each.line, each.record.question) for each in found if isinstance(each, Read)]
    assert texts == [(5, "Why?"), (6, None)]  # the result of B6 is an empty text


def test_a_header_whose_formula_has_no_result_is_named(tmp_path: Path) -> None:
    rows = f"<row>{cell('question_id')}<c><f>A9</f></c></row><row>{cell('a')}{cell('b')}</row>"
    said = reason(read_questions(Source(placed(tmp_path / "q.xlsx", rows))))
    assert said.startswith("cell B1: a formula without a stored result")


@pytest.mark.parametrize(
    ("head", "text"),
    [('<!DOCTYPE w [<!ATTLIST c r CDATA "A1">]>', "x"), ("<!DOCTYPE w>", "x")],
)
def test_sheets_declare_nothing(tmp_path: Path, head: str, text: str) -> None:
    path = placed(tmp_path / "q.xlsx", f"{HEADER}<row>{cell(text)}</row>", head)
    assert "has a DOCTYPE" in reason(read_questions(Source(path)))


def test_parts_and_relations_are_unique(tmp_path: Path) -> None:
    """A reader may take another sheet than the one that was checked."""
    given = parts("faults.xlsx")
    twice = given["xl/worksheets/sheet1.xml"]
    path = workbook(tmp_path / "a.xlsx", {**given, "xl/worksheets/Sheet1.xml": twice})
    assert "two parts have the same name" in reason(read_questions(Source(path)))
    links = given["xl/_rels/workbook.xml.rels"].decode()
    relation = links[links.index("<Relationship ") : links.index("/>") + 2]
    links = links.replace(relation, relation + relation)
    changed = {**given, "xl/_rels/workbook.xml.rels": links.encode()}
    said = reason(read_questions(Source(workbook(tmp_path / "b.xlsx", changed))))
    assert "it is not clear which part has the cells of the sheet" in said


def test_many_cells_that_are_not_closed_take_linear_time() -> None:
    with pytest.raises(ValueError, match="not where it belongs"):
        list(worksheet.cells(b"<sheetData><row>" + b'<c r="A1">' * 400_000))
    text = b"<sheetData>" + b"<row><c><v>1</v></c></row>" * 100_000 + b"</sheetData>"
    assert sum(1 for _ in worksheet.cells(text)) == 100_000
