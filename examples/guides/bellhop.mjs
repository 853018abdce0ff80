// Shared by the guides: one client for the whole process, and one token for all programs of this folder.
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { BellhopClient } from "@bellhop/client";

const { BASE_URL = "http://127.0.0.1:8080", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;
const { TOKEN_FILE = ".bellhop-token" } = process.env;
export const { PROPERTY = "LON01" } = process.env;

/** Keeps the token in a file that only you can read. It is good for an hour and replaced after 55 minutes. */
const tokenStore = {
  async find() {
    try {
      const { mtimeMs } = await stat(TOKEN_FILE);
      const value = (await readFile(TOKEN_FILE, "utf8")).trim();
      return { value, scopes: [], renewAt: mtimeMs + 3_300_000, expiresAt: mtimeMs + 3_600_000 };
    } catch {
      return undefined;
    }
  },
  async keep(_key, { value }) {
    await rm(TOKEN_FILE, { force: true });
    await writeFile(TOKEN_FILE, `${value}\n`, { mode: 0o600 });
  },
  exclusive: (_key, work) => work(),
};

export const bellhop = new BellhopClient({
  baseUrl: BASE_URL,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  tokenStore,
  onWait: ({ reason, ms }) => console.error(`waiting ${Math.ceil(ms / 1000)} s: ${reason}`),
});

/** The source time of what is sent now. */
export const now = () => new Date().toISOString();

/** The JSON of an address that the client has no method for. */
export async function get(path, parameters) {
  const answer = await bellhop.fetch(`${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return await answer.json();
}
