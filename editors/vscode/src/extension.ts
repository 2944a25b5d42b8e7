// Strobe in Visual Studio Code: what each part does stands in its file.

import type * as vscode from "vscode";
import { annotations, Traces } from "./annotate";
import { crashes } from "./crashes";
import { debugging } from "./debug";
import { Host } from "./host";
import { queries } from "./query";
import { sessions } from "./sessions";
import { tests } from "./tests";
import { timeline } from "./timeline";

export function activate(context: vscode.ExtensionContext): void {
  const host = new Host(), traces = new Traces(context.workspaceState);
  context.subscriptions.push(host, ...debugging(host, traces), ...sessions(host), ...timeline(host), ...queries(host, context.extensionUri),
    ...annotations(host, traces), ...tests(host), ...crashes(host));
}
