import type { Load } from "./campaign.ts";

/**
 * What a service in trouble may say to whoever asks: what it always says, or that it cannot now and when to try again. `reading`: what
 * may be answered to readers.
 */
export async function askAround(
  address: string,
  { ledger, token }: Load,
  reading: readonly number[] = [200, 503],
): Promise<string[]> {
  const last = ledger.answers.at(-1)?.requestId;
  const asked: [path: string, statuses: readonly number[]][] = [
    ["/healthz", [200]],
    ["/readyz", [200, 503]],
    ["/metrics", [200]],
  ];
  if (last !== undefined) asked.push([`/api/public/v1/requests/${last}`, reading]);
  const problems: string[] = [];
  for (const [path, statuses] of asked) {
    const response = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    if (!statuses.includes(response.status))
      problems.push(`GET ${path} was answered ${response.status}: ${text.slice(0, 300)}`);
  }
  return problems;
}
