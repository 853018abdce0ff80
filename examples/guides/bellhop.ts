// Shared by the guides: one client for the whole process, so that everything it does takes one token.
import { BellhopClient } from "@bellhop/client";

const { BASE_URL = "http://127.0.0.1:8080", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;
export const { PROPERTY = "LON01" } = process.env;

export const bellhop = new BellhopClient({
  baseUrl: BASE_URL,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
});

/** The source time of what is sent now. */
export const now = () => new Date().toISOString();

/** The JSON of an address that the client has no method for. */
export async function get(path: string, parameters: Record<string, string>) {
  const answer = await bellhop.fetch(`${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as { items: Record<string, unknown>[] };
}
