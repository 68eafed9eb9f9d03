{{- define "delegate.name" -}}
{{- printf "outpost-delegate-%s" (required "delegate.name is required: the delegate's id in the service" .Values.delegate.name) | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "delegate.selector" -}}
app.kubernetes.io/part-of: outpost
app.kubernetes.io/component: delegate
outpost.dev/delegate: {{ .Values.delegate.name | quote }}
{{- end }}

{{- define "delegate.labels" -}}
{{ include "delegate.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "delegate.annotations" -}}
outpost.dev/scope: {{ printf "%s/%s/%s" .Values.delegate.account (default "-" .Values.delegate.org) (default "-" .Values.delegate.project) | quote }}
{{- with .Values.commonAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Head of every object: dict root [suffix]. */}}
{{- define "delegate.metadata" -}}
metadata:
  name: {{ include "delegate.name" .root }}{{ .suffix }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "delegate.labels" .root | nindent 4 }}
  annotations:
    {{- include "delegate.annotations" .root | nindent 4 }}
{{- end }}

{{- define "delegate.image" -}}
{{- if .Values.image.reference -}}
{{ .Values.image.reference }}
{{- else -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "delegate.serviceAccount" -}}
{{- default (ternary (include "delegate.name" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end }}

{{/* Every replica enrols with the token, also one that starts next month: without a new token the one in the cluster stays. */}}
{{- define "delegate.token" -}}
{{- if .Values.token -}}
{{ .Values.token | trim }}
{{- else if not .Values.existingTokenSecret.name -}}
{{- $old := (lookup "v1" "Secret" .Release.Namespace (printf "%s-token" (include "delegate.name" .))).data | default dict -}}
{{ get $old "token" | b64dec }}
{{- end -}}
{{- end }}

{{/* A new token restarts the replicas. */}}
{{- define "delegate.tokenDigest" -}}
{{- with include "delegate.token" . }}{{ sha256sum . | trunc 12 }}{{ else }}none{{ end -}}
{{- end }}

{{- define "delegate.env" -}}
- name: DELEGATE_NAME
  value: {{ .Values.delegate.name | quote }}
- name: DELEGATE_TYPE
  value: KUBERNETES
- name: ACCOUNT_ID
  value: {{ .Values.delegate.account | quote }}
- name: MANAGER_HOST_AND_PORT
  value: {{ required "endpoint is required: the address at which the pods reach the service" .Values.endpoint | quote }}
- name: NEXT_GEN
  value: "true"
{{- with .Values.logStreamingUrl }}
- name: LOG_STREAMING_SERVICE_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.delegate.tags }}
- name: DELEGATE_TAGS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.delegate.description }}
- name: DELEGATE_DESCRIPTION
  value: {{ . | quote }}
{{- end }}
- name: DELEGATE_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: OUTPOST_LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
# Ten seconds less than the Pod has, for saying goodbye.
- name: OUTPOST_GRACE_SECONDS
  value: {{ sub (max 10 .Values.terminationGracePeriodSeconds) 10 | quote }}
{{- if or .Values.ca.bundle .Values.ca.existingSecret.name }}
- name: OUTPOST_CA_FILE
  value: /etc/outpost/ca/ca.crt
{{- end }}
{{- if include "delegate.config" . }}
- name: OUTPOST_CONFIG_FILE
  value: /etc/outpost/config/delegate.yaml
{{- end }}
{{- end }}

{{/* A proxy's address; the kubelet puts the user and password of the Secret in. */}}
{{- define "delegate.proxy" -}}
{{- if .secret -}}
{{- if contains "@" .url }}{{ fail "proxy: give the user and password in the address or in credentialsSecret, not in both" }}{{ end -}}
{{ replace "://" "://$(OUTPOST_PROXY_USER):$(OUTPOST_PROXY_PASSWORD)@" .url }}
{{- else -}}
{{ .url }}
{{- end -}}
{{- end }}

{{/* Whether the authority is in our ConfigMap. */}}
{{- define "delegate.ownCa" -}}
{{- if and .Values.ca.bundle (not .Values.ca.existingSecret.name) }}yes{{ end -}}
{{- end }}

{{/* What the init script needs too. */}}
{{- define "delegate.env.shell" -}}
# The root file system is read-only; tools want a home.
- name: HOME
  value: /tmp
- name: TOOLS
  value: /opt/outpost/tools
- name: PATH
  value: /opt/outpost/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
{{- if or .Values.proxy.httpsProxy .Values.proxy.httpProxy }}
{{- with .Values.proxy.credentialsSecret }}
{{- if .name }}
- name: OUTPOST_PROXY_USER
  valueFrom: { secretKeyRef: { name: {{ .name | quote }}, key: {{ .usernameKey | quote }} } }
- name: OUTPOST_PROXY_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .name | quote }}, key: {{ .passwordKey | quote }} } }
{{- end }}
{{- end }}
{{- with .Values.proxy.httpsProxy }}
- name: HTTPS_PROXY
  value: {{ include "delegate.proxy" (dict "url" . "secret" $.Values.proxy.credentialsSecret.name) | quote }}
{{- end }}
{{- with .Values.proxy.httpProxy }}
- name: HTTP_PROXY
  value: {{ include "delegate.proxy" (dict "url" . "secret" $.Values.proxy.credentialsSecret.name) | quote }}
{{- end }}
- name: NO_PROXY
  value: {{ prepend (without (splitList "," .Values.proxy.noProxy) "") "localhost,127.0.0.1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local" | join "," | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The settings file: `config`, with the scopes of `secretsFrom` beside it. Empty when there is neither. */}}
{{- define "delegate.config" -}}
{{- $paths := dict -}}
{{- range .Values.secretsFrom -}}
{{- if and (not (kindIs "string" .)) (hasKey . "scopes") -}}
{{- $_ := set $paths (default .name .folder) (dict "scopes" .scopes) -}}
{{- end -}}
{{- end -}}
{{- $config := deepCopy .Values.config -}}
{{- if $paths -}}
{{- $config = mergeOverwrite (dict "sources" (dict "file" (dict "paths" $paths))) $config -}}
{{- end -}}
{{- if $config -}}{{ toYaml $config }}{{- end -}}
{{- end -}}
