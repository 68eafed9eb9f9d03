{{/* Names are fixed: one agent a namespace, and the agent looks for its identity under this name. */}}
{{- define "outpost.labels" -}}
app.kubernetes.io/part-of: outpost
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.agent.id }}
outpost.dev/agent: {{ . | quote }}
{{- end }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Which programs there are: `split`, `all`, or `beside` an Argo CD. */}}
{{- define "outpost.layout" -}}
{{ eq .Values.engine "none" | ternary "beside" .Values.mode }}
{{- end }}

{{- define "outpost.annotations" -}}
outpost.dev/scope: {{ printf "%s/%s/%s" .Values.agent.account (default "-" .Values.agent.org) (default "-" .Values.agent.project) | quote }}
{{- with .Values.commonAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "outpost.selector" -}}
app.kubernetes.io/part-of: outpost
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Head of every object: dict root component name [keep]. */}}
{{- define "outpost.metadata" -}}
metadata:
  name: {{ .name | quote }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "outpost.labels" .root | nindent 4 }}
    {{- with .component }}
    app.kubernetes.io/component: {{ . }}
    {{- end }}
  annotations:
    {{- include "outpost.annotations" .root | nindent 4 }}
{{- end }}

{{- define "outpost.image" -}}
{{- if .image.reference -}}
{{ .image.reference }}
{{- else -}}
{{- $tag := default .root.Chart.AppVersion .image.tag -}}
{{- with .image.registry }}{{ . }}/{{ end -}}
{{- .image.repository -}}
{{- with .image.digest }}@{{ . }}{{ else }}:{{ $tag }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "outpost.serviceAccount" -}}
{{- default (ternary (printf "outpost-agent%s" .suffix) "default" .part.serviceAccount.create) .part.serviceAccount.name -}}
{{- end }}

{{/*
The passwords between the programs, as JSON. Values beat what the cluster has; what it has beats a new random one, so that an upgrade changes nothing.
Kept in the release's scope for one rendering, or each template would draw its own.
*/}}
{{- define "outpost.internal" -}}
{{- if not (hasKey .Release "outpostInternal") -}}
{{- $old := (lookup "v1" "Secret" .Release.Namespace "outpost-agent-internal").data | default dict -}}
{{- $repo := .Values.internal.repoToken | default (get $old "repo-token" | b64dec) | default (randAlphaNum 48) -}}
{{- $redis := .Values.internal.redisPassword | default (get $old "redis-password" | b64dec) | default (randAlphaNum 48) -}}
{{- $reads := .Values.internal.readsToken | default (get $old "reads-token" | b64dec) | default (randAlphaNum 48) -}}
{{- $_ := set .Release "outpostInternal" (dict "repo" $repo "redis" $redis "reads" $reads) -}}
{{- end -}}
{{- toJson .Release.outpostInternal -}}
{{- end }}

{{- define "outpost.internalSecret" -}}
{{- default "outpost-agent-internal" .Values.internal.existingSecret -}}
{{- end }}

{{/* A change of these must restart the pods that read them. */}}
{{- define "outpost.internalDigest" -}}
{{- if .Values.internal.existingSecret -}}
{{ .Values.internal.existingSecret }}
{{- else -}}
{{- $i := include "outpost.internal" . | fromJson -}}
{{ printf "%s:%s:%s" $i.repo $i.redis $i.reads | sha256sum | trunc 12 }}
{{- end -}}
{{- end }}

{{/*
A new token restarts the agent. Without a token the digest stays what the cluster has: an agent that is enrolled is not
restarted because its used token is gone.
*/}}
{{- define "outpost.tokenDigest" -}}
{{- if .Values.token -}}
{{ .Values.token | sha256sum | trunc 12 }}
{{- else -}}
{{- $old := lookup "apps/v1" "Deployment" .Release.Namespace "outpost-agent" | default dict -}}
{{ dig "spec" "template" "metadata" "annotations" "outpost.dev/token" "none" $old }}
{{- end -}}
{{- end }}
