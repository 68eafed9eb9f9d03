{{/* Rights of the reader: it stands beside Argo CD and changes nothing. `RBAC` in server/agent/rbac.ts says why each is needed. */}}
{{- define "outpost.rbac.reader" }}
{{- if .Values.link.readObjects }}
{{- $reader := include "outpost.serviceAccount" (dict "part" .Values.reader "suffix" "-reader") }}
{{- $kind := ternary "Role" "ClusterRole" .Values.namespaced }}
{{- $name := .Values.namespaced | ternary "outpost-agent-reader" (printf "outpost-agent-reader:%s" .Release.Namespace) }}
---
# In the namespace of the release: what it is asked about, and the credentials of other clusters.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
{{ include "outpost.metadata" (dict "root" . "name" "outpost-agent-reader-own" "component" "reader") }}
rules:
  - apiGroups: [""]
    resources: [secrets, configmaps]
    verbs: [get, list]
  - apiGroups: [argoproj.io]
    resources: [applications, applicationsets, appprojects]
    verbs: [get, list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
{{ include "outpost.metadata" (dict "root" . "name" "outpost-agent-reader-own" "component" "reader") }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: outpost-agent-reader-own }
subjects:
  - { kind: ServiceAccount, name: {{ $reader | quote }}, namespace: {{ .Release.Namespace | quote }} }
---
# Kinds that Kubernetes's own role `view` leaves out, and `reader.rules`. No Secrets, no subresources.
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- if .Values.namespaced }}
  namespace: {{ .Release.Namespace | quote }}
  {{- end }}
  labels:
    {{- include "outpost.labels" . | nindent 4 }}
    app.kubernetes.io/component: reader
rules:
  - apiGroups: [argoproj.io]
    resources: [applications, applicationsets]
    verbs: [get, list]
  {{- if .Values.namespaced }}
  - apiGroups: [rbac.authorization.k8s.io]
    resources: [roles, rolebindings]
    verbs: [get, list]
  {{- else }}
  - apiGroups: [""]
    resources: [namespaces, persistentvolumes]
    verbs: [get, list]
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    verbs: [get, list]
  - apiGroups: [rbac.authorization.k8s.io]
    resources: [roles, rolebindings, clusterroles, clusterrolebindings]
    verbs: [get, list]
  - apiGroups: [storage.k8s.io]
    resources: [storageclasses]
    verbs: [get, list]
  - apiGroups: [networking.k8s.io]
    resources: [ingressclasses]
    verbs: [get, list]
  - apiGroups: [scheduling.k8s.io]
    resources: [priorityclasses]
    verbs: [get, list]
  - apiGroups: [admissionregistration.k8s.io]
    resources: [validatingwebhookconfigurations, mutatingwebhookconfigurations]
    verbs: [get, list]
  {{- end }}
  {{- with .Values.reader.rules }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- if .Values.namespaced }}
  namespace: {{ .Release.Namespace | quote }}
  {{- end }}
  labels:
    {{- include "outpost.labels" . | nindent 4 }}
    app.kubernetes.io/component: reader
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ $name | quote }} }
subjects:
  - { kind: ServiceAccount, name: {{ $reader | quote }}, namespace: {{ .Release.Namespace | quote }} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .Values.namespaced | ternary "outpost-agent-reader-view" (printf "outpost-agent-reader-view:%s" .Release.Namespace) }}
  {{- if .Values.namespaced }}
  namespace: {{ .Release.Namespace | quote }}
  {{- end }}
  labels:
    {{- include "outpost.labels" . | nindent 4 }}
    app.kubernetes.io/component: reader
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects:
  - { kind: ServiceAccount, name: {{ $reader | quote }}, namespace: {{ .Release.Namespace | quote }} }
{{- end }}
{{- end }}
