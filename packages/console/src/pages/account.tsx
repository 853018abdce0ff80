import { type FormEvent, useState } from "react";
import { changePassword, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { Page } from "../parts/page.tsx";
import { Failure } from "../parts/states.tsx";
import { useSay } from "../parts/toast.tsx";
import { useDeed } from "../parts/use-deed.ts";

/** The operator's own password. */
export function AccountPage() {
  const { data } = useSession();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const deed = useDeed();
  const say = useSay();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      await changePassword(current, password);
      setCurrent("");
      setPassword("");
      say("The password is changed; other sessions of yours are ended.");
    });
  };
  return (
    <Page
      title="Your password"
      lead={`You are logged in as ${data?.operator?.name ?? "nobody"}. A new password ends your other sessions.`}
    >
      <Failure error={deed.error} />
      <form className="form narrow" onSubmit={submit}>
        <PasswordField label="Password now" value={current} kind="current-password" onChange={setCurrent} />
        <PasswordField label="New password" value={password} kind="new-password" onChange={setPassword} />
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Change the password
          </Button>
        </div>
      </form>
    </Page>
  );
}

interface PasswordFieldProps {
  readonly label: string;
  readonly value: string;
  readonly kind: "current-password" | "new-password";
  readonly onChange: (value: string) => void;
}

function PasswordField({ label, value, kind, onChange }: PasswordFieldProps) {
  return (
    <Field label={label}>
      {(tied) => (
        <input
          {...tied}
          type="password"
          required
          value={value}
          autoComplete={kind}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
