import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { inventoryRecord } from "../support/records.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const ROUTE = "/api/public/v1/inventories";

describe("the log line of a finished request", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  /** The log lines of a request, once there is one of its end. */
  async function linesOf({ headers }: Answer): Promise<readonly Record<string, unknown>[]> {
    const lines = () =>
      service.logLines().filter((line) => line.includes(`"httpRequestId":"${headers.get("x-request-id")}"`));
    await until(() => lines().some((line) => line.includes('"msg":"request"')), 5_000);
    return lines().map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  test("one log line has the time it took, accepted or refused", async () => {
    const answers = [
      await service.post("inventories", [inventoryRecord()]),
      await service.post("inventories", [{}]),
      await service.post("inventories", [{}], { as: null }),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 400, 401],
    );
    for (const answer of answers) {
      const [line, ...others] = await linesOf(answer);
      assert.deepEqual(others, []);
      assert.equal(line?.["status"], answer.status);
    }
    // A batch waits for the disk: no clock is so coarse as to miss that.
    const [line] = await linesOf(answers[0] as Answer);
    assert.ok((line?.["ms"] as number) > 0, `${line?.["ms"]} ms`);
  });

  test("the histogram of its route has the time it took", async () => {
    await linesOf(await service.post("inventories", [inventoryRecord()]));
    const { text } = await service.get("/metrics");
    const sum = new RegExp(`http_request_seconds_sum\\{route="${ROUTE}"\\} (\\S+)`).exec(text)?.[1];
    assert.ok(Number(sum) > 0, `${sum} s`);
  });
});
