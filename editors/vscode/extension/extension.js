"use strict";
// Starts `refute lsp` and shows what it says: diagnostics, code actions, progress.
const { spawn } = require("child_process");
const vscode = require("vscode");

class Server {
  constructor([command, ...words], cwd, handlers, failed) {
    this.handlers = handlers;
    this.waiting = new Map();
    this.next = 1;
    this.rest = Buffer.alloc(0);
    this.process = spawn(command, words, { cwd, stdio: ["pipe", "pipe", "ignore"] });
    this.process.on("error", failed);
    this.process.on("exit", () => this.waiting.forEach((answer) => answer(null)));
    this.process.stdin.on("error", () => {}); // the server has ended, which "exit" reports
    this.process.stdout.on("data", (data) => this.read(data));
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  ask(method, params) {
    const id = this.next++;
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params });
    return answer;
  }

  read(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const head = this.rest.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: *(\d+)/i.exec(this.rest.toString("ascii", 0, head))[1]);
      const end = head + 4 + length;
      if (this.rest.length < end) return;
      const message = JSON.parse(this.rest.toString("utf8", head + 4, end));
      this.rest = this.rest.subarray(end);
      this.take(message);
    }
  }

  take({ id, method, params, result }) {
    if (method === undefined) {
      this.waiting.get(id)?.(result ?? null);
      this.waiting.delete(id);
      return;
    }
    this.handlers[method]?.(params);
    if (id !== undefined) this.send({ id, result: null });
  }
}

const range = ({ start, end }) =>
  new vscode.Range(start.line, start.character, end.line, end.character);

function diagnostic(one) {
  const shown = new vscode.Diagnostic(range(one.range), one.message, one.severity - 1);
  shown.source = one.source;
  shown.code = one.code;
  return shown;
}

function edited(edit) {
  const made = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes ?? {}))
    for (const one of edits) made.replace(vscode.Uri.parse(uri), range(one.range), one.newText);
  for (const one of edit.documentChanges ?? []) {
    if (one.kind === "create") made.createFile(vscode.Uri.parse(one.uri), one.options);
    else
      for (const part of one.edits)
        made.replace(vscode.Uri.parse(one.textDocument.uri), range(part.range), part.newText);
  }
  return made;
}

function action(one) {
  const made = new vscode.CodeAction(one.title, vscode.CodeActionKind.QuickFix);
  made.edit = edited(one.edit);
  made.diagnostics = (one.diagnostics ?? []).map(diagnostic);
  made.isPreferred = one.isPreferred;
  return made;
}

/** Shows a progress in the status bar from "begin" to "end". */
function progresses() {
  const ends = new Map();
  return ({ token, value }) => {
    if (value.kind === "begin") {
      const options = { location: vscode.ProgressLocation.Window, title: value.title };
      vscode.window.withProgress(options, () => new Promise((end) => ends.set(token, end)));
    } else if (value.kind === "end") {
      ends.get(token)?.();
      ends.delete(token);
    }
  };
}

let server;

async function activate(context) {
  const root = vscode.workspace.workspaceFolders?.[0]?.uri;
  const shown = vscode.languages.createDiagnosticCollection("refute");
  const command = vscode.workspace.getConfiguration("refute").get("command");
  const handlers = {
    "textDocument/publishDiagnostics": ({ uri, diagnostics }) =>
      shown.set(vscode.Uri.parse(uri), diagnostics.map(diagnostic)),
    "$/progress": progresses(),
  };
  const failed = (error) =>
    vscode.window.showErrorMessage(
      `refute: cannot start \`${command.join(" ")}\` (${error.message}): set refute.command`,
    );
  server = new Server(command, root?.fsPath, handlers, failed);
  await server.ask("initialize", {
    processId: process.pid,
    rootUri: root?.toString() ?? null,
    capabilities: {
      window: { workDoneProgress: true },
      workspace: { workspaceEdit: { documentChanges: true, resourceOperations: ["create"] } },
    },
  });
  server.notify("initialized", {});

  const about = (document) => ({ uri: document.uri.toString() });
  const ours = (document) => document.languageId === "python" && document.uri.scheme === "file";
  const versioned = (document) => ({ ...about(document), version: document.version });
  const on = (event, does) =>
    context.subscriptions.push(event((document) => ours(document) && does(document)));
  const open = (document) =>
    server.notify("textDocument/didOpen", {
      textDocument: { ...versioned(document), languageId: "python", text: document.getText() },
    });
  vscode.workspace.textDocuments.filter(ours).forEach(open);
  on(vscode.workspace.onDidOpenTextDocument, open);
  on(vscode.workspace.onDidSaveTextDocument, (document) =>
    server.notify("textDocument/didSave", { textDocument: about(document) }),
  );
  on(vscode.workspace.onDidCloseTextDocument, (document) =>
    server.notify("textDocument/didClose", { textDocument: about(document) }),
  );
  context.subscriptions.push(
    shown,
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (ours(document))
        server.notify("textDocument/didChange", {
          textDocument: versioned(document),
          contentChanges: [{ text: document.getText() }],
        });
    }),
    vscode.languages.registerCodeActionsProvider(
      { language: "python", scheme: "file" },
      {
        provideCodeActions: async (document, at) => {
          const params = {
            textDocument: about(document),
            range: { start: at.start, end: at.end }, // as JSON VS Code makes an array of it
            context: { diagnostics: [] },
          };
          return ((await server.ask("textDocument/codeAction", params)) ?? []).map(action);
        },
      },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] },
    ),
  );
}

async function deactivate() {
  await server?.ask("shutdown", null);
  server?.notify("exit", null);
}

module.exports = { activate, deactivate };
