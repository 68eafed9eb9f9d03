import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { type ImageSource, pushImage } from "./image-copy.ts";
import { type ImageName, parseImage } from "./image-ref.ts";
import type { RegistryLogin } from "./registry-logins.ts";

/** Names of images from parameters; the first wrong one ends it, before anything is done. */
export function parseImages(texts: readonly string[]): Outcome<ImageName[]> {
  const images: ImageName[] = [];
  for (const text of texts) {
    const image = parseImage(text);
    if (image.kind !== "done") return image;
    if (image.value.digest) return stop("ImageNameInvalid", `${text} names a digest: an image is pushed to a tag`);
    images.push(image.value);
  }
  return done(images);
}

/** Pushes an image under each name. A failure says which of them are done. */
export async function pushAll(
  source: ImageSource,
  names: readonly string[],
  logins: readonly RegistryLogin[],
  context: TaskContext,
): Promise<Outcome<string>> {
  const images = parseImages(names);
  if (images.kind !== "done") return images;
  for (const [i, image] of images.value.entries()) {
    const pushed = await pushImage(source, image, logins, context);
    if (pushed.kind !== "done") {
      const before = i > 0 ? `; pushed before: ${names.slice(0, i).join(", ")}` : "";
      return stop(pushed.reason, `${names[i]}: ${pushed.message}${before}`);
    }
    await context.progress(`${names[i]} is ${pushed.value}`);
  }
  return done(source.root.digest);
}
