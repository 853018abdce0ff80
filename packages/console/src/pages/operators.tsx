import { useState } from "react";
import type { OperatorItem, OperatorPasswordAnswer, OperatorsAnswer, Role } from "../contract.ts";
import { post, postChanges, useAnswer, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { FormDialog, FormDialogButton, SecretDialog, typed } from "../parts/dialog.tsx";
import { AreaField, InputField, SelectField } from "../parts/field.tsx";
import { type Column, ExportButtons, Table } from "../parts/list.tsx";
import { Answered, Page } from "../parts/page.tsx";
import { Badge, Instant, Word } from "../parts/values.tsx";

/** The permissions that each role adds to the previous one. */
const ROLES: Readonly<Record<Role, string>> = {
  viewer: "Viewer: sees requests, records and insight",
  revenue: "Revenue: also settings and status mappings",
  operator: "Operator: also quarantine, backfills, certifications and webhooks",
  admin: "Admin: also clients, operators and the audit",
};

/** Irreversible changes, which need confirmation. */
const FINAL = {
  password: {
    title: "New password for",
    text: "A password given before is refused, and every session ends at once.",
    button: "Create a password",
  },
  "reset-totp": {
    title: "Turn off the codes of",
    text: "The password alone is then enough to log in. Every session ends at once.",
    button: "Turn codes off",
  },
  remove: {
    title: "Remove",
    text: "Every session ends at once. The audit keeps the name.",
    button: "Remove",
  },
} as const;

type Final = keyof typeof FINAL;

interface Open {
  readonly kind: "edit" | Final;
  readonly of: OperatorItem;
}

const grantsOf = (form: FormData): string[] => typed(form, "grants").split(/\s+/).filter(Boolean);

const CSV = "name role grants email hasPassword hasTotp createdAt lastLoginAt disabledAt";

export function OperatorsPage() {
  const asked = useAnswer<OperatorsAnswer>("operators");
  const own = useSession().data?.operator?.name;
  const [open, setOpen] = useState<Open>();
  const [made, setMade] = useState<OperatorPasswordAnswer>();
  const close = () => setOpen(undefined);
  const columns: readonly Column<OperatorItem>[] = [
    {
      head: "Operator",
      lead: true,
      cell: (of) =>
        of.name === own ? (
          <>
            {of.name} <span className="muted">(you)</span>
          </>
        ) : (
          <Button kind="quiet" onClick={() => setOpen({ kind: "edit", of })}>
            {of.name}
          </Button>
        ),
    },
    { head: "Role", cell: ({ role }) => <Word>{role}</Word> },
    {
      head: "Properties",
      cell: ({ grants }) => <Properties grants={grants} />,
    },
    { head: "Logs in by", prose: true, cell: (of) => <LogsInBy of={of} /> },
    {
      head: "State",
      cell: ({ disabledAt }) => (disabledAt === null ? "active" : <Badge icon="off">disabled</Badge>),
    },
    { head: "Last login", cell: ({ lastLoginAt }) => <Instant at={lastLoginAt} as="ago" /> },
  ];
  return (
    <Page
      title="Operators"
      lead="Who may log in to this console, with which role and for which properties."
      actions={
        <>
          <ExportButtons name="operators" csv={CSV} of={asked.data?.items ?? []} />
          <NewOperatorButton onMade={setMade} />
        </>
      }
    >
      <Answered asked={asked}>
        {({ items }) => (
          <Table caption="Operators by name" columns={columns} rows={items} keyOf={({ name }) => name} />
        )}
      </Answered>
      {open?.kind === "edit" ? (
        <EditOperator of={open.of} onClose={close} onFinal={(kind) => setOpen({ kind, of: open.of })} />
      ) : null}
      {open !== undefined && open.kind !== "edit" ? (
        <FinalDialog kind={open.kind} name={open.of.name} onClose={close} onMade={setMade} />
      ) : null}
      {made !== undefined && made.password !== null ? (
        <SecretDialog
          title={`Password of ${made.name}`}
          warning="Hand it over on a secure channel. The operator changes it after the first login."
          secret={made.password}
          onClose={() => setMade(undefined)}
        />
      ) : null}
    </Page>
  );
}

const GRANTS_SHOWN = 3;

function Properties({ grants }: Pick<OperatorItem, "grants">) {
  if (grants.includes("*/*")) return "all";
  const more = grants.length - GRANTS_SHOWN;
  return (
    <span title={grants.join(" ")}>
      <Word mono>{grants.slice(0, GRANTS_SHOWN).join(" ")}</Word>
      {more > 0 && <span className="muted"> and {more} more</span>}
    </span>
  );
}

function LogsInBy({ of }: { of: OperatorItem }) {
  const ways = [of.hasPassword && `password${of.hasTotp ? " and code" : ""}`, of.email].filter(Boolean);
  return ways.length === 0 ? <span className="muted">subject at the provider</span> : ways.join(", ");
}

function Rights({ of }: { of?: OperatorItem }) {
  return (
    <>
      <SelectField label="Role" name="role" defaultValue={of?.role ?? "viewer"} options={ROLES} />
      <AreaField
        label="Properties"
        name="grants"
        hint="CLIENTCODE/PROPERTYCODE or CLIENTCODE/*, one a line; */* is everything."
        required
        rows={3}
        defaultValue={of?.grants.join("\n") ?? ""}
      />
    </>
  );
}

interface FinalDialogProps {
  readonly kind: Final;
  readonly name: string;
  readonly onClose: () => void;
  readonly onMade: (made: OperatorPasswordAnswer) => void;
}

function FinalDialog({ kind, name, onClose, onMade }: FinalDialogProps) {
  const { title, text, button } = FINAL[kind];
  const submit = async () => {
    const answer = await post<OperatorPasswordAnswer>(`operators/${name}/${kind}`, {});
    if (kind === "password") onMade(answer);
  };
  return (
    <FormDialog
      title={`${title} ${name}?`}
      text={text}
      button={button}
      danger
      onClose={onClose}
      onSubmit={submit}
    />
  );
}

function NewOperatorButton({ onMade }: Pick<FinalDialogProps, "onMade">) {
  const hasProvider = useSession().data?.singleSignOn != null;
  return (
    <FormDialogButton
      opener="New operator…"
      openerKind="main"
      title="New operator"
      button="Create the operator"
      onSubmit={async (form) => {
        const email = typed(form, "email");
        const request = { name: typed(form, "name"), role: typed(form, "role"), grants: grantsOf(form) };
        onMade(
          await post<OperatorPasswordAnswer>("operators", email === "" ? request : { ...request, email }),
        );
      }}
    >
      <InputField
        label="Name"
        name="name"
        hint="a-z, 0-9, dot, dash and underscore."
        autoCapitalize="none"
        required
      />
      <Rights />
      {hasProvider ? (
        <InputField
          label="Email (optional)"
          name="email"
          type="email"
          hint="With it the operator logs in at the provider and has no password here."
        />
      ) : null}
    </FormDialogButton>
  );
}

interface EditOperatorProps {
  readonly of: OperatorItem;
  readonly onClose: () => void;
  readonly onFinal: (kind: Final) => void;
}

function EditOperator({ of, onClose, onFinal }: EditOperatorProps) {
  const path = `operators/${of.name}`;
  const host = useSession().data?.singleSignOn?.host ?? "the OpenID Connect provider";
  return (
    <FormDialog
      title={of.name}
      text={
        of.hasPassword
          ? "A change is in effect with the operator's next request."
          : `Logs in at ${host} alone: a lost second factor is reset there.`
      }
      button="Save"
      onClose={onClose}
      onSubmit={(form) =>
        postChanges(`${path}/set`, of, { role: typed(form, "role"), grants: grantsOf(form) })
      }
      actions={(deed) => (
        <>
          <Button onClick={() => onFinal("password")}>
            {of.hasPassword ? "New password…" : "Add a password…"}
          </Button>
          {of.hasTotp ? <Button onClick={() => onFinal("reset-totp")}>Reset codes…</Button> : null}
          <Button
            onClick={() =>
              deed.run(() =>
                post(`${path}/${of.disabledAt === null ? "disable" : "enable"}`, {}).then(onClose),
              )
            }
          >
            {of.disabledAt === null ? "Disable" : "Enable"}
          </Button>
          <Button kind="danger" onClick={() => onFinal("remove")}>
            Remove…
          </Button>
        </>
      )}
    >
      <Rights of={of} />
    </FormDialog>
  );
}
