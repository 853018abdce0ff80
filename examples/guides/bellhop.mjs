// Shared by the guides: one client per process, and one token for all programs in this folder.
import { readFile, rm, writeFile } from "node:fs/promises";
import { BellhopClient } from "@bellhop/client";

const { BASE_URL = "http://127.0.0.1:8080", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;
const { TOKEN_FILE = `.bellhop-token-${`${BASE_URL}-${CLIENT_ID}`.replace(/[^A-Za-z0-9]/g, "_")}` } =
  process.env;
export const { PROPERTY = "LON01" } = process.env;

/** Stores the token in a file that only you can read; the second line is the Unix time to renew it. */
const tokenStore = {
  async find() {
    try {
      const [value, next] = (await readFile(TOKEN_FILE, "utf8")).split("\n");
      return { value, scopes: [], renewAt: next * 1000, expiresAt: next * 1000 };
    } catch {
      return undefined;
    }
  },
  async keep(_key, { value, renewAt }) {
    await rm(TOKEN_FILE, { force: true });
    await writeFile(TOKEN_FILE, `${value}\n${Math.floor(renewAt / 1000)}\n`, { mode: 0o600 });
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

/** The current time as a source time. */
export const now = () => new Date().toISOString();

/** GETs JSON from an address that the client has no method for. */
export async function get(path, parameters) {
  const answer = await bellhop.fetch(`${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return await answer.json();
}
