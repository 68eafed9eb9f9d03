import { jest } from "@jest/globals";
import { canFindBuildah, findBuildah } from "../../../test/servers/buildah.ts";
import { hostile, publicFolder, WAYS_HERE } from "../testing/jail.ts";

/** A real builder of images in every way that lets one work, as a user without a name too. */
jest.setTimeout(250_000);
const dir = publicFolder();
const possible = canFindBuildah() ? test : test.skip;

// Storage has folders that only its user may enter: they are opened again at the end, so that the test can remove them.
const BUILD = `
mkdir -p root run ctx "$HOME/.config/containers"
echo '{"default":[{"type":"insecureAcceptAnything"}]}' > "$HOME/.config/containers/policy.json"
printf 'FROM scratch\\nCOPY Dockerfile /it\\n' > ctx/Dockerfile
buildah --root "$PWD/root" --runroot "$PWD/run" --storage-driver vfs build --isolation chroot --no-cache ctx 2>&1 && echo built
chmod -R u+rwX root run
echo end`;

possible.each(WAYS_HERE.filter((way) => !way.includes("landlock")))("%s: buildah builds an image", async (way) => {
  const { env } = await findBuildah({ at: dir });
  const got = await hostile(dir, way, BUILD, {
    PATH: env.PATH!,
    HOSTILE_USERS: "true",
    HOSTILE_PROCESSES: "400",
  });
  expect([got.level, got.lines.slice(-2)]).toEqual([way, ["built", "end"]]);
});
