{{/* Config management plugins: sidecars that share a folder of sockets with the repo server, and nothing else. */}}
{{- define "outpost.plugins.own" -}}
{{- range .Values.repoServer.plugins }}{{ if not .command }}yes{{ end }}{{ end -}}
{{- end }}

{{/* Our program and its Node.js for the sidecars whose image has none: from our image, as it starts. */}}
{{- define "outpost.plugins.init" -}}
{{- if include "outpost.plugins.own" .root }}
{{- $v := .root.Values -}}
initContainers:
  - name: plugin-server
    command: [sh, -c, 'cp "$(command -v node)" /plugin-server/node && cp -r /app /plugin-server/app']
    image: {{ include "outpost.image" (dict "root" .root "image" $v.image) | quote }}
    imagePullPolicy: {{ $v.image.pullPolicy | quote }}
    securityContext:
      {{- toYaml $v.containerSecurityContext | nindent 6 }}
    resources:
      limits: { memory: 128Mi }
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      - { name: plugin-server, mountPath: /plugin-server }
{{- end }}
{{- end }}

{{- define "outpost.plugins.containers" -}}
{{- range .Values.repoServer.plugins }}
- name: {{ printf "plugin-%s" .name }}
  image: {{ .image | quote }}
  imagePullPolicy: {{ .imagePullPolicy | default $.Values.image.pullPolicy | quote }}
  command: {{ .command | default (list "/plugin-server/node" "/plugin-server/app/outpost.mjs" "plugin-server") | toJson }}
  securityContext:
    {{- toYaml (.securityContext | default $.Values.containerSecurityContext) | nindent 4 }}
  resources:
    {{- toYaml (.resources | default (dict "limits" (dict "memory" "512Mi"))) | nindent 4 }}
  env:
    - { name: HOME, value: /tmp }
    - { name: OUTPOST_PLUGIN_SOCKETS, value: /home/argocd/cmp-server/plugins }
    {{- with .timeoutSeconds }}
    - { name: OUTPOST_PLUGIN_TIMEOUT, value: {{ . | quote }} }
    {{- end }}
    {{- with .env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  # Ready when its socket is there: the repo server finds it by that.
  volumeMounts:
    - { name: {{ printf "plugin-%s-tmp" .name }}, mountPath: /tmp }
    - { name: plugins, mountPath: /home/argocd/cmp-server/plugins }
    {{- if not .command }}
    - { name: plugin-server, mountPath: /plugin-server, readOnly: true }
    {{- end }}
    {{- if .spec }}
    - { name: plugin-config, mountPath: /home/argocd/cmp-server/config/plugin.yaml, subPath: {{ printf "%s.yaml" .name }}, readOnly: true }
    {{- end }}
    {{- with .volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{- define "outpost.plugins.volumes" -}}
{{- with .Values.repoServer.plugins }}
- name: plugins
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- if include "outpost.plugins.own" $ }}
- name: plugin-server
  emptyDir: { sizeLimit: 1Gi }
{{- end }}
{{- if include "outpost.plugins.config" $ }}
- name: plugin-config
  configMap: { name: outpost-agent-plugins }
{{- end }}
{{- range . }}
- name: {{ printf "plugin-%s-tmp" .name }}
  emptyDir: { sizeLimit: {{ .workSizeLimit | default "1Gi" | quote }} }
{{- with .volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The file of each plugin whose image does not bring one. */}}
{{- define "outpost.plugins.config" -}}
{{- $files := dict }}
{{- range .Values.repoServer.plugins }}
{{- if .spec }}
{{- $file := dict "apiVersion" "argoproj.io/v1alpha1" "kind" "ConfigManagementPlugin" "metadata" (dict "name" .name) "spec" .spec }}
{{- $_ := set $files (printf "%s.yaml" .name) (toYaml $file) }}
{{- end }}
{{- end }}
{{- if $files }}
---
apiVersion: v1
kind: ConfigMap
{{ include "outpost.metadata" (dict "root" . "name" "outpost-agent-plugins" "component" "repo-server") }}
data:
  {{- toYaml $files | nindent 2 }}
{{- end }}
{{- end }}
