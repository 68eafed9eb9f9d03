import { localLookup } from "./transport.ts";

test.each(["outpost.localhost", "LOCALHOST", "a.b.localhost."])("%s is this machine", async (name) => {
  const got = await new Promise((resolve) => localLookup(name, { all: true }, (_, address) => resolve(address)));
  expect(got).toEqual([{ address: "127.0.0.1", family: 4 }]);
});
