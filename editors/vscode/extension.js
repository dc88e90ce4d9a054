// Starts `p4lab lsp` and connects VS Code to it.
"use strict";

const fs = require("fs");
const path = require("path");
const { window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

// The command from the settings, or `./lab lsp` where the folder that is open has it.
function command(settings) {
  const [program, ...args] = settings.get("command", []);
  if (program) return { program, args };
  for (const folder of workspace.workspaceFolders ?? []) {
    const lab = path.join(folder.uri.fsPath, "lab");
    if (fs.existsSync(lab) && fs.statSync(lab).isFile()) return { program: lab, args: ["lsp"] };
  }
  return { program: "p4lab", args: ["lsp"] };
}

async function activate(context) {
  const settings = workspace.getConfiguration("p4lab");
  const { program, args } = command(settings);
  for (const folder of settings.get("includeDirs", [])) args.push("-I", folder);
  for (const define of settings.get("defines", [])) args.push("-D", define);
  const watcher = workspace.createFileSystemWatcher("**/*.p4");
  context.subscriptions.push(watcher);
  client = new LanguageClient(
    "p4lab",
    "p4lab",
    { command: program, args },
    {
      documentSelector: [{ language: "p4" }],
      synchronize: { fileEvents: watcher },
    },
  );
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(
      `p4lab: "${program}" did not start (${error.message}). Set p4lab.command in the settings.`,
    );
  }
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
