import { changePassword, useSession } from "../data/queries.ts";
import { Form } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
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
    </Page>
  );
}
