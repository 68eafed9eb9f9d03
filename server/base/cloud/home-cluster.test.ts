import { isHomeAddress } from "./home-cluster.ts";

const POD = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

test.each([
  "https://kubernetes.default.svc",
  "https://kubernetes.default.svc/",
  "https://kubernetes.default.svc///",
  "https://kubernetes.default.svc:443",
  "https://kubernetes.default.svc:6443",
  "https://KUBERNETES.Default.SVC",
  "HTTPS://kubernetes.default.svc",
  "https://kubernetes.default.svc.",
  "https://kubernetes.default.svc.cluster.local",
  "https://kubernetes.default.svc.cluster.local.:443/",
  "https://kubernetes.default",
  "https://kubernetes",
  "http://kubernetes.default.svc",
  "https://user:password@kubernetes.default.svc",
  "https://kubernetes%2Edefault%2Esvc",
  "https://%6bubernetes.default.svc",
  "https://ｋubernetes.default.svc",
  "https:\\\\kubernetes.default.svc",
  "https:/kubernetes.default.svc",
  "https://kubernetes.default.svc/api/../?x=1#y",
  "  https://kubernetes.default.svc\n",
  "https://kuber\tnetes.default.svc",
  "kubernetes.default.svc",
  "https://10.96.0.1",
  "https://10.96.0.1:443/",
  "http://10.96.0.1",
  "https://0x0a600001",
  "https://10.96.1",
  "https://[::ffff:10.96.0.1]",
  "https://10.96.0.1.",
])("the agent's own cluster: %s", (address) => {
  expect(isHomeAddress(address, POD)).toBe(true);
});

test.each([
  "",
  "https://",
  "https://cluster.example",
  "https://kubernetes.example",
  "https://kubernetes.default.svc.evil.example",
  "https://evil.example/kubernetes.default.svc",
  "https://kubernetes.default.svc@evil.example",
  "https://10.96.0.1:6443",
  "https://10.96.0.2",
])("another cluster: %s", (address) => {
  expect(isHomeAddress(address, POD)).toBe(false);
});

test("the Pod's environment decides about addresses: IPv6, another port, a name, none", () => {
  const six = { KUBERNETES_SERVICE_HOST: "fd00:10:96::1", KUBERNETES_SERVICE_PORT: "443" };
  expect(isHomeAddress("https://[fd00:0010:0096:0:0::1]:443", six)).toBe(true);
  expect(isHomeAddress("https://[fd00:10:96::2]", six)).toBe(false);
  const named = { KUBERNETES_SERVICE_HOST: "API.prod.example", KUBERNETES_SERVICE_PORT: "6443" };
  expect(isHomeAddress("https://api.prod.example:6443/", named)).toBe(true);
  expect(isHomeAddress("https://api.prod.example", named)).toBe(false);
  expect(isHomeAddress("https://10.96.0.1", {})).toBe(false);
});
