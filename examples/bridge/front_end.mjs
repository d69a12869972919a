// A front end of the bridge in Node, without packages:  node front_end.mjs "What is here?"
// It starts the backend, asks one question, prints the answer, and asks on the terminal
// before Claude uses a tool.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const command = (process.env.BRIDGE || "claude-sync bridge").split(" ");
const backend = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const send = (message) => backend.stdin.write(JSON.stringify(message) + "\n");

let asked = Promise.resolve(""); // several may come at once, and one word answers one of them
const ask = (question) => new Promise((answered) => {
  if (process.stdin.readableEnded) return answered("");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.on("close", () => answered("")); // nobody is there, which is no
  terminal.question(question, (word) => (answered(word), terminal.close()));
});

const handlers = {
  "session.created": ({ session_id, payload }) =>
    console.error(`session ${session_id}, to be resumed as ${payload.sdk_session_id}`),

  "sdk.message": ({ payload }) => {
    if (payload.type !== "result") return;
    console.log(payload.result ?? payload.subtype);
    backend.stdin.end(); // the end of its input ends the backend, and its sessions with it
  },

  "callback.request": ({ id, session_id, payload }) => {
    const what = `${payload.tool_name} ${JSON.stringify(payload.tool_input)}? [y/N] `;
    asked = asked.then(() => ask(what)).then((word) => {
      const answer = word === "y" ? { behavior: "allow" } : { behavior: "deny", message: "No." };
      send({ type: "callback.response", id, session_id, payload: answer });
    });
  },

  error: ({ payload }) => {
    console.error(`${payload.code}: ${payload.message}`);
    process.exitCode = 1;
    backend.stdin.end();
  },
};

createInterface({ input: backend.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  handlers[message.type]?.(message);
});

const prompt = process.argv[2] || "What is in this folder?";
send({ type: "session.create", id: "1", payload: { prompt, cwd: process.cwd(), options: {} } });
