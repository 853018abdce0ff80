// By orval's client for fetch, and its zod validators.
import * as bellhop from "./client/client";
import * as checks from "./client/zod";
import { BASE_URL, CLIENT_ID, CLIENT_SECRET, run } from "./typescript-core";

/** The addresses of the client are relative: its requests get the base address here. */
const send = globalThis.fetch;
globalThis.fetch = (input, init) => send(new URL(String(input), BASE_URL), init);

function given<Data>({ status, data }: { status: number; data: Data }): Exclude<Data, void> {
  if (status >= 300) throw new Error(JSON.stringify(data));
  return data as Exclude<Data, void>;
}

run(async () => {
  const token = await bellhop.issueToken({
    grant_type: "client_credentials",
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
  });
  if (token.status !== 200) throw new Error(JSON.stringify(token.data));
  const headers = { Authorization: `Bearer ${token.data.access_token}` };
  return {
    pushNights: async (records) => {
      // Only checked: the validator returns the known fields alone.
      checks.pushInventoriesBody.parse(records);
      const answer = await bellhop.pushInventories(records, { headers });
      return answer.status === 202 ? answer.data : given(answer as never);
    },
    pushReservations: async (records) => {
      const answer = await bellhop.pushReservations(records, { headers });
      return answer.status === 202 ? answer.data : given(answer as never);
    },
    pushGroups: async (records) => {
      const answer = await bellhop.pushGroups(records, { headers });
      return answer.status === 202 ? answer.data : given(answer as never);
    },
    status: async (requestId) => {
      const wait = { headers: { ...headers, Prefer: "wait=10" } };
      const answer = await bellhop.getRequest(requestId, undefined, wait);
      if (answer.status !== 200) return given(answer as never);
      checks.getRequestResponse.parse(answer.data);
      return answer.data;
    },
    nights: async (query) => {
      const answer = await bellhop.listInventories(query, { headers });
      if (answer.status !== 200) return given(answer as never);
      checks.listInventoriesResponse.parse(answer.data);
      return answer.data;
    },
    reservations: async (query) => {
      const answer = await bellhop.listReservations(query, { headers });
      if (answer.status !== 200) return given(answer as never);
      checks.listReservationsResponse.parse(answer.data);
      return answer.data;
    },
    groups: async (query) => {
      const answer = await bellhop.listGroups(query, { headers });
      if (answer.status !== 200) return given(answer as never);
      checks.listGroupsResponse.parse(answer.data);
      return answer.data;
    },
  };
});
