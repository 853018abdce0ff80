import type { FastifyInstance } from "fastify";
import type { LabelsAnswer, SettingsAnswer } from "../../../packages/console/src/contract.ts";
import { recordAudit } from "../../auth/audit.ts";
import { withTransaction } from "../../db/transaction.ts";
import { ConsoleError } from "../../errors/console-registry.ts";
import { setSetting, unsetSetting } from "../../settings/change-setting.ts";
import { settingsOfClient } from "../../settings/property-settings.ts";
import { SettingInputError } from "../../settings/setting-values.ts";
import { type LabelledResource, listLabels, mapLabel, unmapLabel } from "../../state/label-mapping.ts";
import { adminOf, type ConsoleParts } from "./console-parts.ts";
import { addChange, addQuestion, type Told } from "./console-routes.ts";
import type { JsonBody } from "./json-body.ts";

const CODE_CHARACTERS_MAX = 128;

async function describeSettings(
  { context }: ConsoleParts,
  clientCode: string,
  propertyCode: string | null,
): Promise<SettingsAnswer> {
  const settings = await settingsOfClient(context.pool, clientCode);
  return {
    ...{ clientCode, propertyCode },
    settingsVersion: settings.version,
    settings: settings.effectiveOf(propertyCode).map(({ name, value, by }) => ({ name, value, from: by })),
  };
}

async function describeLabels({ context }: ConsoleParts, clientCode: string): Promise<LabelsAnswer> {
  const labels = await listLabels(context.pool, clientCode);
  return { clientCode, items: labels.map(({ clientCode: _code, ...label }) => label) };
}

async function changeSetting(
  parts: ConsoleParts,
  kind: "set" | "unset",
  told: Told,
): Promise<SettingsAnswer> {
  const { body, operator } = told;
  const of = {
    clientCode: body.requiredText("clientCode", CODE_CHARACTERS_MAX),
    propertyCode: body.text("propertyCode", CODE_CHARACTERS_MAX) ?? null,
    name: body.requiredText("name"),
  };
  const value = kind === "set" ? body.requiredText("value") : undefined;
  const { who } = adminOf(parts, operator);
  try {
    await withTransaction(parts.context.pool, async (client) => {
      const change =
        value === undefined ? await unsetSetting(client, of) : await setSetting(client, of, value);
      if (change !== undefined)
        await recordAudit(client, { who, what: `${kind}-setting`, detail: { ...change } });
    });
  } catch (cause) {
    if (!(cause instanceof SettingInputError)) throw cause;
    throw new ConsoleError("bellhop.console.InvalidInput", { message: cause.message, cause });
  }
  return describeSettings(parts, of.clientCode, of.propertyCode);
}

function labelOf(body: JsonBody): { clientCode: string; resource: LabelledResource; label: string } {
  const resource = body.requiredText("resource");
  if (resource !== "reservations" && resource !== "groups") {
    const message = "A resource with labels is reservations or groups.";
    throw new ConsoleError("bellhop.console.InvalidInput", { message });
  }
  return {
    clientCode: body.requiredText("clientCode", CODE_CHARACTERS_MAX),
    resource,
    label: body.requiredText("label", CODE_CHARACTERS_MAX),
  };
}

async function changeLabel(parts: ConsoleParts, kind: "set" | "unset", told: Told): Promise<LabelsAnswer> {
  const of = labelOf(told.body);
  const { who } = adminOf(parts, told.operator);
  const deducts = kind === "set" ? told.body.requiredFlag("deducts") : undefined;
  await withTransaction(parts.context.pool, async (client) => {
    if (deducts === undefined) {
      if (await unmapLabel(client, of))
        await recordAudit(client, { who, what: "unmap-label", detail: { ...of } });
      return;
    }
    await mapLabel(client, of, deducts);
    await recordAudit(client, { who, what: "map-label", detail: { ...of, deducts } });
  });
  return describeLabels(parts, of.clientCode);
}

/** What holds for a client code and its properties, and what the hotels' labels mean. */
export function addSettingsRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  addQuestion(scope, parts, "settings", ["clientCode", "propertyCode"], ({ query }) =>
    describeSettings(parts, query.requiredCode("clientCode"), query.code("propertyCode") ?? null),
  );
  addQuestion(scope, parts, "labels", ["clientCode"], ({ query }) =>
    describeLabels(parts, query.requiredCode("clientCode")),
  );
  const settingFields = ["clientCode", "propertyCode", "name"];
  addChange(scope, parts, "settings/set", [...settingFields, "value"], (told) =>
    changeSetting(parts, "set", told),
  );
  addChange(scope, parts, "settings/unset", settingFields, (told) => changeSetting(parts, "unset", told));
  const labelFields = ["clientCode", "resource", "label"];
  addChange(scope, parts, "labels/set", [...labelFields, "deducts"], (told) =>
    changeLabel(parts, "set", told),
  );
  addChange(scope, parts, "labels/unset", labelFields, (told) => changeLabel(parts, "unset", told));
}
