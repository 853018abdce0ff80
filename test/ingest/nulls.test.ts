import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { updateClient } from "../../src/identity/client-admin.ts";
import { type RequestStatus, requestIdOf } from "../manual/service-of-a-page.ts";
import { errorObject } from "../support/error-object.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";

let service: TestService;
let spring: TestClient;
before(async () => {
  service = await startTestService();
  spring = await service.newClient({ nulls: "absent" });
});
after(() => service.stop());

/** A reservation as Spring's ObjectMapper writes a class with every field of the contract: null for each unset field. */
const BY_JACKSON =
  '{"clientCode":"ACME","propertyCode":"LON01","reservationId":"R-1","lastModifiedDateTime":"2026-02-01T10:00:00Z","status":"CONFIRMED",' +
  '"correlationId":null,"bookingDateTime":null,"channel":null,"sourceBookingCode":null,"groupCode":null,"numberOfRooms":null,"multiReservationId":null,"shareId":null,' +
  '"primarySharer":null,"sharers":null,"cancellationDateTime":null,"cancellationReason":null,"lastBookedPropertyCode":null,"profiles":null,' +
  '"stayRevenue":null,"roomStays":[{"arrivalDate":"2026-07-14","departureDate":"2026-07-16","roomTypeCode":"DLX","roomNumber":null,' +
  '"numberOfAdults":2,"numberOfChildren":null,"numberOfInfants":null,"marketCode":null,"sourceCode":null,"rateCode":null,' +
  '"currencyCode":"EUR","childAgeBuckets":null,"rates":[{"rateValue":"120.00","rateCode":null,"startDate":null,"endDate":null}],"services":null}]}';

const push = (body: string, client: TestClient) => service.post("reservations", `[${body}]`, { as: client });

test("by default null is refused where the specification does not show it, and the message names the serialisers' settings", async () => {
  const error = errorObject(await push(BY_JACKSON, service.client), 400, "bellhop.contract.InvalidRecords");
  const codes = new Set(error.violations?.map(({ code }) => code));
  assert.deepEqual([...codes], ["null"]);
  assert.match(error.violations?.[0]?.message ?? "", /Jackson: NON_NULL; Gson: no serializeNulls/);
});

test("a client set to nulls: absent pushes them: applied without a warning, returned verbatim, counted, and the same after a replay", async () => {
  const accepted = await push(BY_JACKSON, spring);
  const asOwner = { as: spring };
  const status = await untilFound(async () => {
    const { counts, records, ...of } = (
      await service.get(`/api/public/v1/requests/${requestIdOf(accepted)}`, asOwner)
    ).json() as unknown as RequestStatus;
    return of.status === "applied" ? { applied: counts["applied"], records } : undefined;
  });
  assert.deepEqual(status, { applied: 1, records: [] });
  const listed = await service.get("/api/public/v1/reservations?clientCode=ACME&propertyCode=LON01");
  assert.ok(listed.text.includes(BY_JACKSON), listed.text);
  const asked = "clientCode=ACME&propertyCode=LON01&from=2026-07-14&to=2026-07-14";
  const books = await service.get(`/api/insight/v1/on-the-books?${asked}`);
  assert.match(books.text, /"rooms":1,/);
  const { clientConfig } = service.database;
  assert.equal((await replay({ clientConfig, pool: service.pool, swap: false })).equal, true);
});

test("null in a required field, and in the place of an item, is refused all the same", async () => {
  for (const [from, to] of [
    ['"status":"CONFIRMED"', '"status":null'],
    ['"roomTypeCode":"DLX"', '"roomTypeCode":null'],
    ['"rates":[{', '"rates":[null,{'],
  ] as const) {
    const answer = await push(BY_JACKSON.replace(from, to), spring);
    const { violations = [] } = errorObject(answer, 400, "bellhop.contract.InvalidRecords");
    assert.deepEqual([violations.length, violations[0]?.code], [1, "null"], to);
  }
});

test("the setting applies to existing tokens", async () => {
  const client = await service.newClient({});
  assert.equal((await push(BY_JACKSON, client)).status, 400);
  const admin = { internals: service.service.authenticator.internals, who: "cli:test" };
  await updateClient(admin, client.clientId, { nulls: "absent" });
  assert.equal((await push(BY_JACKSON, client)).status, 202);
});
