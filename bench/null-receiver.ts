/** Accepts everything and responds 202, to measure the sender's own cost. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const TOKEN = JSON.stringify({ access_token: "a".repeat(600), token_type: "Bearer", expires_in: 3_600 });
let requests = 0;

const server = createServer((request, response) => {
  const isToken = request.url?.endsWith("/token") === true;
  request.resume().on("end", () => {
    requests += 1;
    const answer = isToken
      ? TOKEN
      : `{"requestId":"01980000-0000-7000-8000-${String(requests).padStart(12, "0")}"}`;
    response.writeHead(isToken ? 200 : 202, {
      "content-type": "application/json",
      "content-length": answer.length,
    });
    response.end(answer);
  });
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
