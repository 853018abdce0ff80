/** The first limit: a server that only receives and parses the same bodies and responds. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const records = JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown[];
    const answer = `{"records":${records.length}}`;
    response.writeHead(202, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
