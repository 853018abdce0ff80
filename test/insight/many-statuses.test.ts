import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { logInAsNew } from "../support/console-session.ts";
import { apply, LISBON, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** Statuses as a sender that writes another text into each record makes them. */
const plant = (last: number) =>
  service.pool.query(
    `insert into bellhop_state.night_dimension (bucket, property_id, dimension, status)
    select property.bucket, property.property_id, n, 'S' || n
    from bellhop.property as property cross join generate_series(1, $1::integer) as n
    on conflict do nothing`,
    [last],
  );

test("a property with more statuses than are looked at in one piece has no figures, and says why", async () => {
  await apply(service, "reservations", [reservation("R1", "2026-01-01T00:00:00Z")]);
  const viewer = await logInAsNew(service, "viewer", { role: "viewer", grants: ["ACME/*"] });
  const nights = `${LISBON}&from=2026-07-14&to=2026-07-15`;
  const ask = () =>
    Promise.all([
      service.get(`/api/insight/v1/on-the-books?${nights}`),
      viewer.get(`insight/on-the-books?${nights}`),
      service.get(`/api/insight/v1/feed-health?${LISBON}`),
    ]);
  await plant(19_000);
  for (const answer of await ask()) assert.equal(answer.status, 200, answer.text);
  await plant(20_001);
  for (const answer of await ask()) {
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /more than 20000 different statuses/);
  }
});
