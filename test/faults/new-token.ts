import { CLIENT_CODE } from "./batch-source.ts";
import type { ServiceProcess } from "./service-process.ts";

/** What a partner was given to ask for tokens with. */
export interface ClientCredentials {
  readonly client_id: string;
  readonly client_secret: string;
}

/** A client as a partner has it, made on the command line beside the service. */
export async function newClient(service: ServiceProcess): Promise<ClientCredentials> {
  const rates = ["--rate", "100000", "--burst", "100000"];
  const grant = `${CLIENT_CODE}/*`;
  const name = ["--name", "faults"];
  return JSON.parse(
    await service.command("client", "create", ...name, "--grant", grant, ...rates, "--json"),
  ) as ClientCredentials;
}

/** What was answered in the place of a token. */
export class TokenRefused extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`No token: ${status} ${text}`);
    this.status = status;
  }
}

/** A token of this client, asked for over HTTP. Throws TokenRefused for another answer, and when there is none. */
export async function tokenOf(
  address: string,
  { client_id, client_secret }: ClientCredentials,
): Promise<string> {
  const response = await fetch(`${address}/api/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new TokenRefused(response.status, text);
  return (JSON.parse(text) as { access_token: string }).access_token;
}

/** A token of a new client. */
export async function newToken(service: ServiceProcess): Promise<string> {
  return await tokenOf(service.address, await newClient(service));
}
