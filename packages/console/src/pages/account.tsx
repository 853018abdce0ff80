import { type FormEvent, useState } from "react";
import { changePassword, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { useDeed } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
import { Failure, Page } from "../parts/page.tsx";

/** The operator's own password. */
export function AccountPage() {
  const name = useSession().data?.operator?.name ?? "";
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const deed = useDeed();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      await changePassword(current, password);
      setCurrent("");
      setPassword("");
    }, "The password is changed and your other sessions have ended.");
  };
  return (
    <Page
      title="Your password"
      lead={`You are logged in as ${name}. A new password ends your other sessions.`}
    >
      <Failure error={deed.error} />
      <form className="form narrow" onSubmit={submit}>
        <InputField
          label="Current password"
          type="password"
          autoComplete="current-password"
          required
          value={current}
          onChange={setCurrent}
        />
        <InputField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={setPassword}
        />
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Change the password
          </Button>
        </div>
      </form>
    </Page>
  );
}
