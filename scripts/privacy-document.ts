import { RESOURCES } from "#contract/resource.ts";
import type { PersonalReason } from "#contract/schema/field.ts";
import { FIELDS } from "#contract/schema/record-schemas.ts";

/** Why a field is erased, in the words of docs/privacy.md. */
const REASONS: Readonly<Record<PersonalReason, string>> = {
  identifies:
    "identifies a person, so an erasure searches for it elsewhere, too. Company profiles as well, because no field distinguishes them reliably",
  "free text": "free text",
  "who stayed": "with dates it identifies who stayed and who shared the room",
};

function personalTable(): string {
  const rows = RESOURCES.flatMap((resource) =>
    Object.entries(REASONS).flatMap(([reason, why]) => {
      const paths = FIELDS[resource].flatMap(({ path, field }) =>
        field.notes?.personal === reason ? `\`${path}\`` : [],
      );
      return paths.length === 0 ? [] : `| ${resource} | ${paths.join(", ")} | ${why} |`;
    }),
  );
  return `| Records | Erased | Why |\n|---|---|---|\n${rows.join("\n")}\n`;
}

/** docs/privacy.md with the personal fields of records written again. */
export function withPersonalFields(document: string): string {
  return document.replace(
    /(<!-- generated: personal-fields -->\n)[\s\S]*?(<!-- end -->)/,
    (_, open: string, close: string) => `${open}\n${personalTable()}\n${close}`,
  );
}
