import { instanceOf, placeOfInstance } from "./instance.ts";

test("an application has one name among all, and that leads back to it", () => {
  const own = "outpost-agent";
  const all = [
    { name: "web", namespace: own },
    { name: "web", namespace: "team-a" },
    { name: "team-a-web", namespace: own },
    { name: "web", namespace: "team" },
    { name: "a.web", namespace: "team" },
  ];
  const names = all.map((metadata) => instanceOf({ metadata }, own));
  expect(names).toEqual(["web", "team-a_web", "team-a-web", "team_web", "team_a.web"]);
  expect(names.map((name) => placeOfInstance(name, own))).toEqual(
    all.map(({ name, namespace }) => ({ namespace, name })),
  );
});
