import { type FormEvent, useState } from "react";
import { changePassword, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { useDeed } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
import { Failure, Page, Section } from "../parts/page.tsx";
import { SecondFactor } from "./second-factor.tsx";

/** The operator's own account. */
export function AccountPage() {
  const account = useSession().data?.operator;
  const scope = account?.grants.includes("*/*") === true ? "every property" : account?.grants.join(", ");
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
      title="Your account"
      lead={`You are logged in as ${account?.name ?? ""}: ${account?.role ?? ""} of ${scope ?? ""}.`}
    >
      {account?.hasPassword === true ? (
        <Section title="Password">
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
              hint="It ends your other sessions."
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
        </Section>
      ) : (
        <p>You log in with single sign-on; your password and second factor are kept there.</p>
      )}
      <SecondFactor />
    </Page>
  );
}
