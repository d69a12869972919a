// A front end by somebody who has read the description of the protocol, and nothing else.
//
//     node seed_only.mjs FOLDER BACKEND [WORD ...]
//
// It works with two sessions, does everything that the description has a word for, provokes
// all of its errors, and prints as JSON what it was answered. seed_only.py does the same.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder, ...command] = process.argv.slice(2);
// Whoever waits longer waits in vain.
const PATIENCE = 90_000;

const backend = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = once(backend, "exit");
const alarm = setTimeout(() => backend.kill("SIGKILL"), PATIENCE);
const sent = [];
const wrong = [];
const received = [];

const lines = createInterface({ input: backend.stdout, crlfDelay: Infinity });
let heard = () => {}; // wakes whoever waits
let ended = false;
lines.on("line", (line) => {
  received.push(JSON.parse(line));
  heard();
});
lines.on("close", () => {
  ended = true;
  heard();
});

// The first message that fits, of those that have come and those that will.
async function until(fits) {
  for (let place = 0; ; place++) {
    while (place === received.length) {
      if (ended) throw new Error(`the backend ended: ${JSON.stringify(received.slice(-3))}`);
      await new Promise((resolve) => (heard = resolve));
    }
    if (fits(received[place])) return received[place];
  }
}

function send(type, payload, session_id, id = randomUUID()) {
  const message = { type, id, session_id, payload };
  if (session_id === undefined) delete message.session_id;
  sent.push(message);
  backend.stdin.write(JSON.stringify(message) + "\n");
  return id;
}

function writeWrong(line) {
  wrong.push(line);
  backend.stdin.write(line + "\n");
}

const answer = (id) => until((message) => message.id === id);
const error = (id) => until((message) => message.type === "error" && message.id === id);

// A message of a session, by its number among its like.
function nth(type, sessionId, number, said = () => true) {
  let left = number;
  return until(
    (message) =>
      message.type === type &&
      message.session_id === sessionId &&
      said(message.payload) &&
      left-- === 0,
  );
}

const request = (sessionId, number) => nth("callback.request", sessionId, number);
const isResult = (said) => said.type === "result";
const isText = (said) => said.type === "stream_event" && said.event.delta?.text !== undefined;
const isQuestion = (said) => said.type === "user" && !JSON.stringify(said).includes("tool_result");
const result = async (sessionId, number) =>
  (await nth("sdk.message", sessionId, number, isResult)).payload;

function create(prompt) {
  const options = {
    model: "sonnet",
    permission_mode: "default",
    include_partial_messages: true,
    enable_file_checkpointing: true,
    max_turns: 20,
  };
  return send("session.create", { prompt, cwd: folder, options });
}

const report = { errors: {}, queries: {}, sent, wrong, received };

// Two sessions. What the second one asks for is not answered until much later.
const both = [create("please write the first file"), create("please wait for nobody")];
const first = (await answer(both[0])).session_id;

// One tool is approved, with another input than was wanted; another one is denied.
let asked = await request(first, 0);
const changed = { ...asked.payload.tool_input, content: "as the front end wants it" };
send("callback.response", { behavior: "allow", updated_input: changed }, first, asked.id);
report.approved = await result(first, 0);
report.written = readFileSync(join(folder, "first"), "utf8");
report.created = [await answer(both[0]), await answer(both[1])];
const second = report.created[1].session_id;
send("session.send", { message: "please write the second file" }, first);
asked = await request(first, 1);
send("callback.response", { behavior: "deny", message: "one file is enough" }, first, asked.id);
report.denied = await result(first, 1);
report.asked = [(await request(first, 0)).payload, (await request(first, 1)).payload];

// The eight methods.
const question = (await nth("sdk.message", first, 0, isQuestion)).payload.uuid;
for (const [method, ...args] of [
  ["supportedModels"],
  ["supportedCommands"],
  ["mcpServerStatus"],
  ["accountInfo"],
  ["setModel", "haiku"],
  ["setPermissionMode", "default"],
  ["setMaxThinkingTokens", 3000],
  ["rewindFiles", question],
]) {
  report.queries[method] = (await answer(send("query.call", { method, args }, first))).payload;
}

// An interrupt in the middle of a text.
const before = received.filter(
  (message) =>
    message.type === "sdk.message" && message.session_id === first && isText(message.payload),
).length;
send("session.send", { message: "please talk on and on" }, first);
await nth("sdk.message", first, before, isText);
report.interrupted = await answer(send("session.interrupt", {}, first));
report.interrupted_result = await result(first, 2);

// What is wrong is told, and the connection lives.
writeWrong("this is no JSON");
writeWrong('{"type": "session.fly", "id": "unknown-type", "payload": {}}');
report.errors.INVALID_MESSAGE = await error("unknown-type");
const nowhere = send("session.send", { message: "hello" }, "no-such-session");
report.errors.SESSION_NOT_FOUND = await answer(nowhere);
const noFolder = { prompt: "hello", cwd: join(folder, "no", "such"), options: {} };
report.errors.SESSION_CREATE_FAILED = await answer(send("session.create", noFolder));
send("callback.response", { behavior: "allow" }, first, "no-such-callback");
report.errors.CALLBACK_NOT_FOUND = await error("no-such-callback");
const noMethod = { method: "flyToTheMoon", args: [] };
report.errors.QUERY_METHOD_FAILED = await answer(send("query.call", noMethod, first));

// The second session has waited for an answer all the time; then its CLI ends itself.
const unanswered = await request(second, 0);
report.errors.CALLBACK_TIMEOUT = await error(unanswered.id);
report.unanswered = await result(second, 0);
const deadly = send("session.send", { message: "please end yourself" }, second);
send("callback.response", { behavior: "allow" }, second, (await request(second, 1)).id);
report.errors.SDK_ERROR = await error(deadly);

// The first one has not noticed. Both are killed; then there is nobody to talk to.
send("session.send", { message: "please say goodbye" }, first);
report.goodbye = await result(first, 3);
report.killed = [];
for (const each of [first, second]) {
  report.killed.push(await answer(send("session.kill", {}, each)));
}
report.after_the_end = await answer(send("session.send", { message: "hello?" }, first));

// The end of its input is the end of the backend.
backend.stdin.end();
report.exit_code = (await exited)[0];
clearTimeout(alarm);
console.log(JSON.stringify(report));
