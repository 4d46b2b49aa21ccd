"use strict";
// Runs the extension in Node: a `vscode` that records, one document, and what became of it.
const Module = require("module");
const [extension, file, text, ...command] = process.argv.slice(2);

const uri = (value) => ({ scheme: "file", fsPath: value.slice(7), toString: () => value });
const events = {};
const event = (name) => (does) => ((events[name] = does), { dispose() {} });
class Bag {
  constructor(...parts) {
    Object.assign(this, { parts });
  }
}
class Edit {
  edits = [];
  replace(at, range, newText) {
    this.edits.push({ uri: at.toString(), newText });
  }
  createFile(at) {
    this.edits.push({ uri: at.toString(), create: true });
  }
}
class Place {
  constructor(line, character, endLine, endCharacter) {
    this.start = { line, character };
    this.end = { line: endLine, character: endCharacter };
  }
  toJSON() {
    return [this.start, this.end];
  }
}
const document = {
  uri: uri(`file://${file}`),
  languageId: "python",
  version: 1,
  getText: () => text,
};
const seen = { progress: [], diagnostics: [] };
let provider;
const context = { subscriptions: [] };
const vscode = {
  Range: Place,
  Diagnostic: Bag,
  WorkspaceEdit: Edit,
  CodeAction: Bag,
  CodeActionKind: { QuickFix: "quickfix" },
  ProgressLocation: { Window: 10 },
  Uri: { parse: uri },
  languages: {
    createDiagnosticCollection: () => ({
      set: (at, found) => {
        seen.diagnostics.push(found.map((one) => one.parts[1]));
        if (seen.diagnostics.length === 2) finish();
      },
      dispose() {},
    }),
    registerCodeActionsProvider: (where, made) => ((provider = made), { dispose() {} }),
  },
  window: {
    showErrorMessage: (line) => (console.log(JSON.stringify({ error: line })), process.exit(0)),
    withProgress: (options, does) => does().then(() => seen.progress.push(options.title)),
  },
  workspace: {
    workspaceFolders: [{ uri: uri(`file://${require("path").dirname(file)}`) }],
    textDocuments: [document],
    getConfiguration: () => ({ get: () => command }),
    onDidOpenTextDocument: event("open"),
    onDidSaveTextDocument: event("save"),
    onDidCloseTextDocument: event("close"),
    onDidChangeTextDocument: event("change"),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const { activate, deactivate } = require(extension);

async function finish() {
  await new Promise((done) => setTimeout(done, 200));
  const found = await provider.provideCodeActions(document, new Place(0, 0, 99, 0));
  seen.actions = found.map((one) => ({ title: one.parts[0], edits: one.edit.edits }));
  events.close(document);
  await deactivate();
  console.log(JSON.stringify(seen));
}
activate(context);
