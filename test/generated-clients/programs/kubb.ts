// By kubb's client for fetch, whose zod validators check what is sent and what is answered.
import * as bellhop from "./client";
import { setConfig } from "./client/.kubb/fetch";
import { BASE_URL, CLIENT_ID, CLIENT_SECRET, run } from "./typescript-core";

run(async () => {
  // The client sends every body as JSON, and this one is a form.
  const form = { grant_type: "client_credentials", client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const answer = await fetch(`${BASE_URL}/api/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams(form),
  });
  const token = bellhop.accessTokenSchema.parse(await answer.json());
  setConfig({
    baseURL: BASE_URL,
    headers: { Authorization: `Bearer ${token.access_token}`, "Content-Type": "application/json" },
  });
  return {
    pushNights: (records) => bellhop.pushInventories(records),
    pushReservations: (records) => bellhop.pushReservations(records),
    pushGroups: (records) => bellhop.pushGroups(records),
    status: (requestId) => bellhop.getRequest(requestId, undefined, { Prefer: "wait=10" }),
    nights: (query) => bellhop.listInventories(query),
    reservations: (query) => bellhop.listReservations(query),
    groups: (query) => bellhop.listGroups(query),
  };
});
