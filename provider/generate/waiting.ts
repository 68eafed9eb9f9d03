/** A data source and its condition: the apply that creates the object fails when it is not ready. A test applies them. */
export const FAIL_AT_ONCE: Record<string, string> = {
  outpost_application: `data "outpost_application" "example" {
  id         = outpost_application.example.id
  depends_on = [outpost_application.example]

  lifecycle {
    postcondition {
      condition     = try(self.status.sync.status == "Synced" && self.status.health.status == "Healthy", false)
      error_message = "It is \${try("\${self.status.sync.status} and \${self.status.health.status}", "not deployed yet")}."
    }
  }
}`,
  outpost_application_set: `data "outpost_application_set" "example" {
  id         = outpost_application_set.example.id
  depends_on = [outpost_application_set.example]

  lifecycle {
    postcondition {
      condition     = try(self.status.health.status == "Healthy", false)
      error_message = "It is \${try(self.status.health.status, "not deployed yet")}."
    }
  }
}`,
};

/** What `wait` does, for the pages of the objects that deploy something. */
export const waiting = Object.fromEntries(
  Object.entries(FAIL_AT_ONCE).map(([type, hcl]) => [
    type,
    `## Waiting, and failing in a pipeline

A create or update ends when the object is ready, or with the deepest reason that the agent knows. \`timeouts\` says how long it may take.

- **It can never succeed** (no such branch, a chart that does not render, a destination that is not permitted): the apply fails.
- **A create runs out of time, is interrupted, or what it deployed fails** (a failed sync, a Pod that does not start): the apply ends with a
  warning and exit code 0. Terraform would otherwise taint the object, and the next apply would delete what it has deployed. Each following apply
  waits again, as an update, and fails with the reason for as long as the object is not ready.
- **An update** runs out of time or fails: the apply fails. The object stays.

A pipeline that must fail in the very apply that creates the object adds a data source with a condition. It is read after the wait, and its
failure taints nothing:

\`\`\`terraform
${hcl}
\`\`\`

The condition also holds for a plan without changes: it fails while the object is not ready. Use a \`check\` block instead for a warning.
\`outpost ${type === "outpost_application" ? "app" : "appset"} wait ID\` after the apply does the same from a shell, and ends with a code other than 0.`,
  ]),
);
