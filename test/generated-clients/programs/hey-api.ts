// By @hey-api/openapi-ts, whose zod validators check what is sent and what is answered.
import * as bellhop from "./client";
import { client } from "./client/client.gen";
import { BASE_URL, CLIENT_ID, CLIENT_SECRET, run } from "./typescript-core";

run(async () => {
  client.setConfig({ baseUrl: BASE_URL, throwOnError: true });
  const form = {
    grant_type: "client_credentials",
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
  } as const;
  const token = await bellhop.issueToken<true>({ body: form });
  client.setConfig({ auth: token.data.access_token });
  return {
    pushNights: async (body) => (await bellhop.pushInventories<true>({ body })).data,
    pushReservations: async (body) => (await bellhop.pushReservations<true>({ body })).data,
    pushGroups: async (body) => (await bellhop.pushGroups<true>({ body })).data,
    status: async (requestId) =>
      (await bellhop.getRequest<true>({ path: { requestId }, headers: { Prefer: "wait=10" } })).data,
    nights: async (query) => (await bellhop.listInventories<true>({ query })).data,
    reservations: async (query) => (await bellhop.listReservations<true>({ query })).data,
    groups: async (query) => (await bellhop.listGroups<true>({ query })).data,
  };
});
