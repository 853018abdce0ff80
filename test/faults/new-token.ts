import { CLIENT_CODE } from "./batch-source.ts";
import type { ServiceProcess } from "./service-process.ts";

/** A token of a client as a partner has it: made on the command line beside the service, asked for over HTTP. */
export async function newToken(service: ServiceProcess): Promise<string> {
  const rates = ["--rate", "100000", "--burst", "100000"];
  const grant = `${CLIENT_CODE}/*`;
  const said = await service.command(
    "client",
    "create",
    "--name",
    "faults",
    "--grant",
    grant,
    ...rates,
    "--json",
  );
  const { client_id, client_secret } = JSON.parse(said) as { client_id: string; client_secret: string };
  const response = await fetch(`${service.address}/api/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}
