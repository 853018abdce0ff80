import { recordAudit } from "../auth/audit.ts";
import { createSealer } from "../auth/seal.ts";
import { AddressRules } from "../feed/webhooks/address-rules.ts";
import {
  addWebhook,
  pauseWebhook,
  redriveWebhook,
  removeWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookAdmin,
} from "../feed/webhooks/administration.ts";
import { findEndpoint, listEndpoints, stateOf } from "../feed/webhooks/endpoint.ts";
import { listAttempts, listDeadLetters } from "../feed/webhooks/queue.ts";
import { openForCommand } from "./open-for-command.ts";
import { fieldLines, momentText, tableLines } from "./text-output.ts";
import {
  JSON_OPTION,
  readArgs,
  readCount,
  readDuration,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";
import { attemptRow, endpointFields, endpointJson, waitForTry } from "./webhook-output.ts";

const TEXT = { type: "string" } as const;
const TEXTS = { type: "string", multiple: true } as const;
const ATTEMPTS_SHOWN = 50;

/** Opens the database for an operator, who sees the endpoints of all clients. */
function withWebhooks(
  environment: NodeJS.ProcessEnv,
  work: (admin: WebhookAdmin) => Promise<number>,
): Promise<number> {
  return openForCommand(environment, ({ config, database, who }) =>
    work({
      ...{ pool: database.pool, who, clientId: null, audit: recordAudit },
      sealer: createSealer(config.keyEncryptionKey, config.keyEncryptionKeysPrevious),
      rules: new AddressRules(config.webhookAllowedNetworks),
    }),
  );
}

/** A line that names one endpoint, and perhaps more. */
function readEndpointLine(args: readonly string[], more: Readonly<Record<string, typeof TEXT>> = {}) {
  const options = { ...JSON_OPTION, ...more };
  const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
  const texts = values as unknown as Readonly<Record<string, string | undefined>>;
  return { endpointId: readOne("ENDPOINT_ID", positionals), json: values.json === true, texts };
}

function create(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage:
      "bellhop webhook create --client-id CLIENT_ID --url URL --event request.applied|changes.available … [--resource inventories|reservations|groups] [--client CLIENTCODE [--property PROPERTYCODE]] [--description TEXT] [--json]",
    async run(args, { out }) {
      const options = {
        ...JSON_OPTION,
        ...{ "client-id": TEXT, url: TEXT, event: TEXTS, resource: TEXT },
        ...{ client: TEXT, property: TEXT, description: TEXT },
      } as const;
      const { values } = readArgs({ args: [...args], options });
      const { url, "client-id": clientId } = values;
      if (clientId === undefined || url === undefined)
        throw new UsageError("--client-id and --url are needed.");
      return withWebhooks(environment, async (admin) => {
        const { endpoint, secret } = await addWebhook(admin, clientId, {
          ...{ url, events: values.event ?? [], resource: values.resource },
          ...{ clientCode: values.client, propertyCode: values.property, description: values.description },
        });
        if (values.json) {
          out(JSON.stringify({ ...endpointJson(endpoint), secret }));
          return 0;
        }
        out(
          "Created the endpoint. Its secret is shown now and never again: hand it over on a secure channel.\n",
        );
        for (const line of fieldLines([["secret", secret], ...endpointFields(endpoint)])) out(line);
        return 0;
      });
    },
  };
}

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook list [--client-id CLIENT_ID] [--json]",
    async run(args, { out }) {
      const { values } = readArgs({ args: [...args], options: { ...JSON_OPTION, "client-id": TEXT } });
      return withWebhooks(environment, async ({ pool }) => {
        const endpoints = await listEndpoints(pool, values["client-id"] ?? null);
        if (values.json) out(JSON.stringify({ items: endpoints.map(endpointJson) }));
        else if (endpoints.length === 0) out("There is no webhook endpoint.");
        else {
          const rows = endpoints.map((endpoint) => [
            ...[
              endpoint.endpointId,
              stateOf(endpoint),
              String(endpoint.waiting),
              String(endpoint.deadLetters),
            ],
            ...[momentText(endpoint.lastTryAt), endpoint.clientName, endpoint.url],
          ]);
          const heads = ["ENDPOINT ID", "STATE", "WAITING", "DEAD", "LAST TRY", "CLIENT", "ADDRESS"];
          for (const line of tableLines(heads, rows)) out(line);
        }
        return 0;
      });
    },
  };
}

function show(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook show ENDPOINT_ID [--json]\n    with its newest tries",
    async run(args, { out }) {
      const { endpointId, json } = readEndpointLine(args);
      return withWebhooks(environment, async ({ pool }) => {
        const endpoint = await findEndpoint(pool, null, endpointId);
        const attempts = await listAttempts(pool, endpointId, ATTEMPTS_SHOWN);
        if (json) {
          out(JSON.stringify({ ...endpointJson(endpoint), attempts }));
          return 0;
        }
        for (const line of fieldLines(endpointFields(endpoint))) out(line);
        const heads = ["TRIED", "EVENT", "MESSAGE", "TRY", "MS", "STATUS", "FAILURE"];
        if (attempts.length > 0)
          for (const line of ["", ...tableLines(heads, attempts.map(attemptRow))]) out(line);
        return 0;
      });
    },
  };
}

function test(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage:
      "bellhop webhook test ENDPOINT_ID [--json]\n    sends webhook.test by the running service and says what came of it",
    async run(args, { out, err }) {
      const { endpointId, json } = readEndpointLine(args);
      return withWebhooks(environment, async (admin) => {
        const messageId = await testWebhook(admin, endpointId);
        const attempt = await waitForTry(admin.pool, endpointId, messageId);
        if (attempt === undefined) {
          err("bellhop: the test is queued and was not tried yet: is a node with the role apply running?");
          return 1;
        }
        if (json) out(JSON.stringify(attempt));
        else if (attempt.failure === null)
          out(`Delivered in ${attempt.durationMs} ms (status ${attempt.status}).`);
        else err(`bellhop: not delivered: ${attempt.failure}, status ${attempt.status ?? "none"}.`);
        return attempt.failure === null ? 0 : 1;
      });
    },
  };
}

function pause(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook pause ENDPOINT_ID [--reason TEXT] [--json]",
    async run(args, { out }) {
      const { endpointId, json, texts } = readEndpointLine(args, { reason: TEXT });
      return withWebhooks(environment, async (admin) => {
        const endpoint = await pauseWebhook(admin, endpointId, texts["reason"] ?? "");
        out(json ? JSON.stringify(endpointJson(endpoint)) : "Paused: what it would be told waits.");
        return 0;
      });
    },
  };
}

function resume(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook resume ENDPOINT_ID [--json]",
    async run(args, { out }) {
      const { endpointId, json } = readEndpointLine(args);
      return withWebhooks(environment, async (admin) => {
        const endpoint = await resumeWebhook(admin, endpointId);
        out(
          json
            ? JSON.stringify(endpointJson(endpoint))
            : `Resumed: ${endpoint.waiting} messages are due now.`,
        );
        return 0;
      });
    },
  };
}

function rotateSecret(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook rotate-secret ENDPOINT_ID [--overlap 24h] [--json]",
    async run(args, { out }) {
      const { endpointId, json, texts } = readEndpointLine(args, { overlap: TEXT });
      const overlapSeconds = readDuration("overlap", texts["overlap"]);
      return withWebhooks(environment, async (admin) => {
        const { secret, previousExpiresAt } = await rotateWebhook(admin, endpointId, overlapSeconds);
        if (json) out(JSON.stringify({ endpointId, secret, previousExpiresAt }));
        else {
          out("Made a new secret. It is shown now and never again: hand it over on a secure channel.\n");
          const fields = [
            ["secret", secret] as const,
            ["signed with the former until", momentText(previousExpiresAt)] as const,
          ];
          for (const line of fieldLines(fields)) out(line);
        }
        return 0;
      });
    },
  };
}

function deadLetters(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook dead-letters ENDPOINT_ID [--limit N] [--json]",
    async run(args, { out }) {
      const { endpointId, json, texts } = readEndpointLine(args, { limit: TEXT });
      const limit = readCount("limit", texts["limit"]) ?? ATTEMPTS_SHOWN;
      return withWebhooks(environment, async ({ pool }) => {
        await findEndpoint(pool, null, endpointId);
        const all = await listDeadLetters(pool, endpointId);
        const letters = all.slice(0, limit);
        if (json) out(JSON.stringify({ items: letters }));
        else if (letters.length === 0) out("No message of this endpoint was given up.");
        else {
          const rows = letters.map(({ messageId, event, cause, createdAt, deadAt, lastFailure }) => [
            ...[messageId, event, momentText(createdAt), momentText(deadAt), lastFailure ?? "-", cause],
          ]);
          for (const line of tableLines(["MESSAGE", "EVENT", "MADE", "GIVEN UP", "LAST FAILURE", "OF"], rows))
            out(line);
          if (all.length > limit) out(`… and more (--limit, ${limit} now).`);
        }
        return 0;
      });
    },
  };
}

function redrive(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook redrive ENDPOINT_ID [--message MESSAGE_ID] [--json]",
    async run(args, { out }) {
      const { endpointId, json, texts } = readEndpointLine(args, { message: TEXT });
      return withWebhooks(environment, async (admin) => {
        const redriven = await redriveWebhook(admin, endpointId, texts["message"] ?? null);
        out(json ? JSON.stringify({ endpointId, redriven }) : `Queued again: ${redriven}.`);
        return 0;
      });
    },
  };
}

function remove(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop webhook remove ENDPOINT_ID [--json]",
    async run(args, { out }) {
      const { endpointId, json } = readEndpointLine(args);
      return withWebhooks(environment, async (admin) => {
        await removeWebhook(admin, endpointId);
        out(json ? JSON.stringify({ endpointId, removed: true }) : "Removed, with what waited for it.");
        return 0;
      });
    },
  };
}

/** `bellhop webhook …`: the endpoints of all clients. Answers the exit code. */
export function webhookCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  const verbs: Verbs = {
    ...{ create: create(environment), list: list(environment), show: show(environment) },
    ...{ test: test(environment), pause: pause(environment), resume: resume(environment) },
    "rotate-secret": rotateSecret(environment),
    "dead-letters": deadLetters(environment),
    ...{ redrive: redrive(environment), remove: remove(environment) },
  };
  return runVerb("webhook", verbs, args, context);
}
