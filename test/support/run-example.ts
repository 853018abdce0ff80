import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TestClient } from "./service.ts";

const execute = promisify(execFile);
const WAIT_MS_MAX = 100_000;

export interface ExampleRun {
  readonly cwd: string;
  /** The address of the service. */
  readonly address: string;
  readonly client: TestClient;
  readonly property: string;
  /** Without it the program keeps its token where it does by default. */
  readonly tokenFile: string | null;
}

/** What a program of `examples` prints that is run with a partner's environment; it must print no error. */
export async function runExample(
  command: string,
  args: readonly string[],
  { cwd, address, client, property, tokenFile }: ExampleRun,
): Promise<string> {
  const { stdout, stderr } = await execute(command, [...args], {
    cwd,
    timeout: WAIT_MS_MAX,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      PYTHONDONTWRITEBYTECODE: "1",
      BASE_URL: address,
      CLIENT_ID: client.clientId,
      CLIENT_SECRET: client.clientSecret,
      PROPERTY: property,
      ...(tokenFile === null ? {} : { TOKEN_FILE: tokenFile }),
    },
  });
  assert.equal(stderr, "");
  return stdout;
}

/** The Python of this machine; undefined without one. */
export async function findPython(): Promise<string | undefined> {
  const asked = execute("python3", ["-c", "import sys; print(sys.executable)"]);
  return await asked.then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}
