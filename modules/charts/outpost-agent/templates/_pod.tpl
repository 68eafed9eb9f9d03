{{/* Metadata and the common fields of a pod: dict root component part suffix [annotations] [api]. */}}
{{- define "outpost.podMetadata" -}}
metadata:
  labels:
    {{- include "outpost.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with .shard }}
    outpost.dev/shard: {{ . | quote }}
    {{- end }}
    {{- with merge dict .part.labels .root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- include "outpost.annotations" .root | nindent 4 }}
    {{- with .annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if and .root.Values.metrics.annotations .port }}
    prometheus.io/scrape: "true"
    prometheus.io/port: {{ .port | quote }}
    prometheus.io/path: /metrics
    {{- end }}
    {{- with merge dict .part.annotations .root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "outpost.podSpec" -}}
{{- $v := .root.Values -}}
serviceAccountName: {{ .account | quote }}
automountServiceAccountToken: {{ .api }}
enableServiceLinks: false
terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
{{- with $v.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
securityContext:
  {{- toYaml $v.podSecurityContext | nindent 2 }}
{{- with .part.priorityClassName | default $v.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .part.nodeSelector | default $v.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations | default $v.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity | default $v.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $v.topologySpread.enabled }}
topologySpreadConstraints:
  - maxSkew: {{ $v.topologySpread.maxSkew }}
    topologyKey: {{ $v.topologySpread.topologyKey | quote }}
    whenUnsatisfiable: {{ $v.topologySpread.whenUnsatisfiable | quote }}
    labelSelector:
      matchLabels:
        {{- include "outpost.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* Image, security and resources of our own container. */}}
{{- define "outpost.container" -}}
{{- $v := .root.Values -}}
image: {{ include "outpost.image" (dict "root" .root "image" $v.image) | quote }}
imagePullPolicy: {{ $v.image.pullPolicy | quote }}
securityContext:
  {{- toYaml $v.containerSecurityContext | nindent 2 }}
resources:
  {{- toYaml .part.resources | nindent 2 }}
{{- end }}

{{- define "outpost.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 3
{{- end }}

{{/* Environment that every program of ours has. */}}
{{- define "outpost.env" -}}
{{- $v := .root.Values -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
# The root file system is read-only; git and helm want a home.
- name: HOME
  value: /tmp
- name: OUTPOST_LOG_LEVEL
  value: {{ $v.logLevel | quote }}
{{- if or $v.proxy.httpsProxy $v.proxy.httpProxy }}
{{- with $v.proxy.httpsProxy }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with $v.proxy.httpProxy }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
- name: NO_PROXY
  value: {{ prepend (without (splitList "," $v.proxy.noProxy) "") "localhost,127.0.0.1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local" | join "," | quote }}
{{- end }}
{{- with $v.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- with .part.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "outpost.env.link" -}}
{{- $v := .Values -}}
- name: OUTPOST_ENDPOINT
  value: {{ required "endpoint is required: the address at which the pods reach the service" $v.endpoint | quote }}
# Optional: an agent that is enrolled needs no token.
- name: OUTPOST_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ default "outpost-agent-token" $v.existingTokenSecret.name | quote }}
      key: {{ ternary $v.existingTokenSecret.key "token" (ne $v.existingTokenSecret.name "") | quote }}
      optional: true
{{- if or $v.ca.bundle $v.ca.existingSecret.name }}
- name: OUTPOST_CA_FILE
  value: /etc/outpost/ca/ca.crt
{{- end }}
{{- end }}

{{/* What the link and the controller have in common. */}}
{{- define "outpost.env.controller" -}}
- name: OUTPOST_NAMESPACED
  value: {{ .Values.namespaced | quote }}
{{- with .Values.applicationNamespaces }}
- name: OUTPOST_APPLICATION_NAMESPACES
  value: {{ join "," . | quote }}
- name: OUTPOST_APPLICATIONSET_NAMESPACES
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.scmProviders }}
- name: OUTPOST_SCM_PROVIDERS
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}

{{/* How the clients of the repo server find it. */}}
{{- define "outpost.env.repo" -}}
- name: OUTPOST_REPO_URL
  value: http://outpost-agent-repo-server.{{ .Release.Namespace }}.svc:8083
- name: OUTPOST_REPO_TOKEN_FILE
  value: /etc/outpost/repo/repo-token
{{- end }}

{{- define "outpost.env.redis" -}}
- name: REDIS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "outpost.internalSecret" . | quote }}, key: redis-password } }
- name: REDIS_URL
  {{- if .Values.redis.enabled }}
  value: redis://:$(REDIS_PASSWORD)@outpost-agent-redis.{{ .Release.Namespace }}.svc:6379/0
  {{- else }}
  value: {{ required "redis.url is required when redis.enabled is false" .Values.redis.url | replace "://" "://:$(REDIS_PASSWORD)@" | quote }}
  {{- end }}
{{- end }}

{{- define "outpost.mounts.ca" -}}
{{- if or .Values.ca.bundle .Values.ca.existingSecret.name }}
- { name: ca, mountPath: /etc/outpost/ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "outpost.volumes.ca" -}}
{{- with .Values.ca }}
{{- if .existingSecret.name }}
- name: ca
  secret:
    secretName: {{ .existingSecret.name | quote }}
    items: [{ key: {{ .existingSecret.key | quote }}, path: ca.crt }]
{{- else if .bundle }}
- name: ca
  configMap: { name: outpost-agent-ca }
{{- end }}
{{- end }}
{{- end }}

{{- define "outpost.volumes.repo" -}}
- name: repo-token
  secret:
    secretName: {{ include "outpost.internalSecret" . | quote }}
    items: [{ key: repo-token, path: repo-token }]
{{- end }}

{{/* The secret of the link and the controller alone: the repo server runs what charts and plugins bring. */}}
{{- define "outpost.volumes.reads" -}}
- name: reads-token
  secret:
    secretName: {{ include "outpost.internalSecret" . | quote }}
    items: [{ key: reads-token, path: reads-token }]
{{- end }}
