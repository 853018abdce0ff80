import type { Ledger } from "./ledger.ts";

const SAMPLE = 40;

interface Status {
  readonly status: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** What the service answers afterwards about a sample of its requests: applied, with outcomes that add up. */
export async function checkAnswers(address: string, token: string, ledger: Ledger): Promise<string[]> {
  const sent = [...ledger.batches.values()].filter(({ requestId }) => requestId !== undefined);
  const step = Math.max(1, Math.floor(sent.length / SAMPLE));
  const problems: string[] = [];
  for (const { requestId, records: sentRecords } of sent.filter((_, at) => at % step === 0)) {
    const response = await fetch(`${address}/api/public/v1/requests/${requestId}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const text = await response.text();
    if (response.status !== 200) {
      problems.push(`the status of ${requestId} is answered ${response.status}: ${text.slice(0, 300)}`);
      continue;
    }
    const { status, counts } = JSON.parse(text) as Status;
    const { applied = 0, unchanged = 0, stale = 0, duplicate = 0, records } = counts;
    const adds = applied + unchanged + stale + duplicate === sentRecords.count;
    if (status !== "applied" || !adds || records !== sentRecords.count)
      problems.push(
        `${requestId} of ${sentRecords.count} records is reported as ${status}, ${JSON.stringify(counts)}`,
      );
  }
  return problems;
}
