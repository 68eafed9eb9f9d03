/** Collections whose specs have texts with rules of their own, see `rules/forms.ts`. A program that starts often reads those rules only for them. */
const WITH_FORMS = ["applications", "applicationsets", "appprojects", "clusters", "pipelines"] as const;

export type WithForms = (typeof WITH_FORMS)[number];

export const hasForms = (collection: string): collection is WithForms =>
  (WITH_FORMS as readonly string[]).includes(collection);
