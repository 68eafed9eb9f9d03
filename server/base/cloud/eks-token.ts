import type { AwsCredentials } from "./aws.ts";
import { awsPresigned } from "./aws-sign.ts";

/** A signed address takes no longer, whatever it says of itself. */
export const PRESIGNED_MS = 15 * 60_000;
// What aws-iam-authenticator says; STS takes no notice.
const EXPIRES_SECONDS = 60;

/** The token by which EKS knows who asks: a signed question to STS for this cluster alone, as `aws eks get-token` makes it. */
export async function eksToken(
  keys: AwsCredentials,
  cluster: string,
  { region, sts }: { region: string; sts: string },
): Promise<string> {
  const question = new URL(sts);
  question.search = new URLSearchParams({ Action: "GetCallerIdentity", Version: "2011-06-15" }).toString();
  const place = { service: "sts", region, url: question.href };
  const headers = { "x-k8s-aws-id": cluster };
  const url = await awsPresigned(keys, place, { headers, seconds: EXPIRES_SECONDS });
  return `k8s-aws-v1.${Buffer.from(url).toString("base64url")}`;
}
