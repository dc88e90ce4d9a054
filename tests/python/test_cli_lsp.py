"""`p4lab lsp` as an editor meets it: a process that speaks JSON-RPC on its standard streams."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from cli_runner import p4lab
from lsp_client import ROOT, Editor
from p4lab.editor import jupyter_server

BIER = ROOT / "p4" / "bier" / "v1model.p4"


@pytest.fixture
def editor(tmp_path: Path):
    editor = Editor(cache=tmp_path)
    yield editor
    editor.process.kill()


def place(text: str, words: str) -> tuple[int, int]:
    """Line and character of the first letter of `words`."""
    before = text[: text.index(words)]
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)


def test_a_session_from_beginning_to_end(editor: Editor, tmp_path: Path) -> None:
    text, uri = BIER.read_text(), BIER.as_uri()
    folder = {"uri": ROOT.joinpath("p4").as_uri(), "name": "p4"}
    answer = editor.ask("initialize", {"processId": None, "workspaceFolders": [folder]})
    assert answer["serverInfo"]["name"] == "p4lab"
    editor.tell("initialized", {})
    document = {"uri": uri, "languageId": "p4", "version": 1, "text": text}
    editor.tell("textDocument/didOpen", {"textDocument": document})

    hover = editor.at("textDocument/hover", uri, *place(text, "ingress_port);"))
    assert "bit<9> ingress_port" in hover["contents"]["value"]
    assert editor.diagnostics[uri] == []

    found = editor.at("textDocument/definition", uri, *place(text, "mark_to_drop"))
    built_in = tmp_path / "p4lab" / "v1model.p4"
    assert found["uri"] == built_in.as_uri()
    line = built_in.read_text().splitlines()[found["range"]["start"]["line"]]
    assert "mark_to_drop" in line

    wrong = text.replace("BierRouter() router;", "BierRouter()router; /* ü */ nowhere_t x;")
    wrong = wrong.replace("mark_to_drop(standard_metadata);", "standard_metadata.", 1)
    editor.tell(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": wrong}]},
    )
    line_number, character = place(wrong, "standard_metadata.\n")
    items = editor.at(
        "textDocument/completion", uri, line_number, character + len("standard_metadata.")
    )["items"]
    assert "egress_spec" in {item["label"] for item in items}
    codes = {d["code"]: d for d in editor.diagnostics[uri]}
    unknown = codes["E0201"]
    assert unknown["range"]["start"]["character"] == place(wrong, "nowhere_t")[1]
    assert Path(unknown["codeDescription"]["href"].removeprefix("file://")).is_file()

    options = {"tabSize": 4, "insertSpaces": True}
    ask = {"textDocument": {"uri": uri}, "options": options}
    assert len(editor.ask("textDocument/formatting", ask)) == 1
    symbols = editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert "BierIngress" in {symbol["name"] for symbol in symbols}

    editor.write(b"{ this is no JSON")
    assert editor.read()["error"]["code"] == -32700
    editor.ask("shutdown", None)
    editor.tell("exit", None)
    assert editor.end() == (0, "")


def test_an_editor_that_hangs_up_leaves_no_server_behind(editor: Editor) -> None:
    editor.ask("initialize", {})
    assert editor.end() == (2, "")


def test_a_stream_that_is_no_protocol_is_one_sentence() -> None:
    done = p4lab("lsp")  # standard input is empty
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    done = p4lab("lsp", "-I", "nowhere")
    assert done.returncode == 2 and "no such directory" in done.stderr


def test_files_outside_the_open_folders_are_not_read_through_links(
    editor: Editor, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret.p4").write_text("const bit<8> password = 7;\n")
    (work / "link.p4").symlink_to(tmp_path / "secret.p4")
    editor.ask("initialize", {"rootUri": work.as_uri()})
    uri = (work / "a.p4").as_uri()
    text = '#include "link.p4"\nconst bit<8> b = password;\n'
    document = {"uri": uri, "languageId": "p4", "version": 1, "text": text}
    editor.tell("textDocument/didOpen", {"textDocument": document})
    editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert [d["code"] for d in editor.diagnostics[uri]] == ["E0013", "E0201"]


def test_jupyter_finds_the_server() -> None:
    """jupyter-lsp asks the entry points of installed packages how to start language servers."""
    points = importlib.metadata.entry_points(group="jupyter_lsp_spec_v1")
    if "p4lab" not in points.names:
        pytest.skip("the package was installed before it had this entry point; ./lab renews it")
    spec = points["p4lab"].load()(None)["p4lab"]
    assert spec["argv"][1:] == ["-m", "p4lab", "lsp"] and spec["languages"] == ["p4"]


def test_the_extensions_agree_on_the_language() -> None:
    """VS Code and JupyterLab both must know `.p4` files, or the server is never asked."""
    vscode = ROOT / "editors" / "vscode"
    package = json.loads((vscode / "package.json").read_text())
    (language,) = package["contributes"]["languages"]
    assert language["id"] == "p4" and ".p4" in language["extensions"]
    json.loads((vscode / language["configuration"]).read_text())
    (grammar,) = package["contributes"]["grammars"]
    assert json.loads((vscode / grammar["path"]).read_text())["scopeName"] == grammar["scopeName"]
    assert (vscode / package["main"]).is_file()

    data = ROOT / "editors" / "jupyterlab" / "data"
    lab = data / "share" / "jupyter" / "labextensions" / "p4lab"
    build = json.loads((lab / "package.json").read_text())["jupyterlab"]["_build"]
    script = (lab / build["load"]).read_text()
    (mime_type,) = jupyter_server()["p4lab"]["mime_types"]
    assert f'"{mime_type}"' in script and f'"{build["extension"]}"' in script
