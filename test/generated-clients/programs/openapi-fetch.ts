// By openapi-typescript and openapi-fetch.
import createClient from "openapi-fetch";
import type { paths } from "./client/schema";
import { BASE_URL, CLIENT_ID, CLIENT_SECRET, run } from "./typescript-core";

function given<Data>({ data, error }: { data?: Data; error?: unknown }): Data {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

run(async () => {
  const client = createClient<paths>({ baseUrl: BASE_URL });
  const form = {
    grant_type: "client_credentials",
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
  } as const;
  const token = await client.POST("/api/oauth2/token", {
    body: form,
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    bodySerializer: (body) => new URLSearchParams(body as Record<string, string>).toString(),
  });
  const authorization = `Bearer ${given(token).access_token}`;
  client.use({ onRequest: ({ request }) => request.headers.set("Authorization", authorization) });
  return {
    pushNights: async (body) => given(await client.POST("/api/public/v1/inventories", { body })),
    pushReservations: async (body) => given(await client.POST("/api/public/v1/reservations", { body })),
    pushGroups: async (body) => given(await client.POST("/api/public/v1/groups", { body })),
    status: async (requestId) =>
      given(
        await client.GET("/api/public/v1/requests/{requestId}", {
          params: { path: { requestId }, header: { Prefer: "wait=10" } },
        }),
      ),
    nights: async (query) => given(await client.GET("/api/public/v1/inventories", { params: { query } })),
    reservations: async (query) =>
      given(await client.GET("/api/public/v1/reservations", { params: { query } })),
    groups: async (query) => given(await client.GET("/api/public/v1/groups", { params: { query } })),
  };
});
