import { useState } from "react";
import { changePassword, useSession } from "../data/queries.ts";
import { readStored, store } from "../data/stored.ts";
import { Form } from "../parts/dialog.tsx";
import { Choice, InputField } from "../parts/field.tsx";
import { CSV_FORM_STORED_AS } from "../parts/list.tsx";
import { Page, Section } from "../parts/page.tsx";
import { SecondFactor } from "./second-factor.tsx";

export function AccountPage() {
  const account = useSession().data?.operator;
  const scope = account?.grants.includes("*/*") === true ? "every property" : account?.grants.join(", ");
  return (
    <Page
      title="Your account"
      lead={`You are logged in as ${account?.name ?? ""}: ${account?.role ?? ""} of ${scope ?? ""}.`}
    >
      {account?.hasPassword === true ? (
        <Section title="Password">
          <Form
            className="form narrow"
            button="Change the password"
            done="The password is changed and your other sessions have ended."
            onSubmit={(form) => changePassword(String(form.get("current")), String(form.get("password")))}
          >
            <InputField
              label="Current password"
              name="current"
              type="password"
              autoComplete="current-password"
              required
            />
            <InputField
              label="New password"
              name="password"
              hint="A new password ends your other sessions."
              type="password"
              autoComplete="new-password"
              required
            />
          </Form>
        </Section>
      ) : (
        <p>You log in with single sign-on; your password and second factor are kept there.</p>
      )}
      <SecondFactor />
      <Section title="Downloads">
        <div className="form narrow">
          <CsvForm />
        </div>
      </Section>
    </Page>
  );
}

function CsvForm() {
  const [form, setForm] = useState(readStored(CSV_FORM_STORED_AS) ?? "comma");
  return (
    <Choice
      label="CSV files, in this browser"
      value={form}
      options={[
        ["comma", "comma, 1.5"],
        ["semicolon", "semicolon, 1,5"],
      ]}
      onChange={(next) => {
        setForm(next);
        store(CSV_FORM_STORED_AS, next);
      }}
    />
  );
}
