{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/*
tests/lib/helm.py renders these templates in the tests. It knows if, else, with, define, include and
the functions used here, and no others.
*/}}
{{- define "pinfold.selector" -}}
app.kubernetes.io/name: pinfold
app.kubernetes.io/component: agent
{{- end }}

{{- define "pinfold.labels" -}}
{{ include "pinfold.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "pinfold.config" -}}
{{ mergeOverwrite
    (dict "mode" .Values.mode
          "metrics" (dict "listen" "[::]:9417" "page" false))
    (ternary
      (dict "reservedSystemCPUs" .Values.reservedSystemCPUs
            "sources" (dict "nri" "/var/run/nri/nri.sock" "manifestDirectory" ""))
      (dict "runtimeDirectory" "/run/pinfold" "stateDirectory" "/run/pinfold-state")
      (eq .Values.mode "allocate"))
    .Values.config | toYaml }}
{{- end }}
