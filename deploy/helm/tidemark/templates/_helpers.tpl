{{- define "tidemark.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of everything. A StatefulSet's pods add an ordinal, and a label has at most 63 letters. */}}
{{- define "tidemark.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else if contains (include "tidemark.name" .) .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "tidemark.name" .) | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tidemark.serviceAccount" -}}
{{- default (ternary (include "tidemark.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{/* What chooses pods; it cannot change while a release lives. */}}
{{- define "tidemark.selector" -}}
app.kubernetes.io/name: {{ include "tidemark.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .role }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "tidemark.labels" -}}
{{ include "tidemark.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: tidemark
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "tidemark.keys" -}}
{{- if or .Values.auth.keys .Values.auth.keysSecret.name -}}true{{- end -}}
{{- end -}}

{{/* What the command would refuse when the pod starts is refused here. */}}
{{- define "tidemark.check" -}}
{{- $v := .Values -}}
{{- if not $v.kafka.brokers -}}
{{- fail "kafka.brokers is empty: name some brokers, such as [kafka-1:9092]" -}}
{{- end -}}
{{- if and (include "tidemark.keys" .) $v.auth.insecure -}}
{{- fail "auth.insecure is for pods without keys, and auth.keys or auth.keysSecret is set: leave one of them out" -}}
{{- end -}}
{{- if not (or (include "tidemark.keys" .) $v.auth.insecure) -}}
{{- fail "without keys anyone who reaches a pod may read and publish as any user: set auth.keys (or auth.keysSecret) and auth.issuer, or state auth.insecure" -}}
{{- end -}}
{{- if and $v.auth.keys $v.auth.keysSecret.name -}}
{{- fail "auth.keys and auth.keysSecret are two places for the same keys: leave one of them out" -}}
{{- end -}}
{{- if and (include "tidemark.keys" .) (not $v.auth.issuer) -}}
{{- fail "auth.issuer is empty: without it a token that the same keys signed for another service would do" -}}
{{- end -}}
{{- if and (include "tidemark.keys" .) $v.gateway.enabled (not $v.auth.peerSecret.name) -}}
{{- fail "gateways ask nodes for everything and have to prove that they are gateways: set auth.peerSecret" -}}
{{- end -}}
{{- if and $v.kafka.sasl (not (and $v.kafka.user $v.kafka.passwordSecret.name)) -}}
{{- fail "kafka.sasl needs kafka.user and kafka.passwordSecret" -}}
{{- end -}}
{{- end -}}

{{/* The flags that nodes and gateways share, as YAML. */}}
{{- define "tidemark.flags" -}}
{{- $v := .Values -}}
{{- $full := include "tidemark.fullname" . -}}
listen: 0.0.0.0:8080
admin-listen: 0.0.0.0:9090
log-format: json
group: {{ $v.group | quote }}
brokers: {{ join "," $v.kafka.brokers | quote }}
redis: {{ $v.redis.url | quote }}
{{- with $v.topicPrefix }}
topic-prefix: {{ . | quote }}
{{- end }}
{{- with $v.traces.endpoint }}
otel-endpoint: {{ . | quote }}
otel-sample: {{ $v.traces.sample }}
{{- end }}
{{- if $v.kafka.tls }}
kafka-tls: true
{{- end }}
{{- if $v.kafka.caSecret.name }}
kafka-ca: /etc/tidemark/kafka-ca/{{ $v.kafka.caSecret.key }}
{{- end }}
{{- if $v.kafka.sasl }}
kafka-sasl: {{ $v.kafka.sasl }}
kafka-user: {{ $v.kafka.user | quote }}
kafka-password-file: /etc/tidemark/kafka-password/{{ $v.kafka.passwordSecret.key }}
{{- end }}
{{- if $v.redis.passwordSecret.name }}
redis-password-file: /etc/tidemark/redis-password/{{ $v.redis.passwordSecret.key }}
{{- end }}
{{- if $v.redis.caSecret.name }}
redis-ca: /etc/tidemark/redis-ca/{{ $v.redis.caSecret.key }}
{{- end }}
{{- if include "tidemark.keys" . }}
auth-keys: {{ default (printf "/etc/tidemark/auth-keys/%s" $v.auth.keysSecret.key) $v.auth.keys | quote }}
auth-issuer: {{ $v.auth.issuer | quote }}
auth-audience: {{ $v.auth.audience | quote }}
{{- else }}
insecure: true
{{- /* Without keys, a name with a dot has to be told; other pods call the Services by theirs. */}}
hosts: {{ printf "%[1]s.%[2]s,%[1]s.%[2]s.svc,%[1]s.%[2]s.svc.cluster.local,%[1]s-gateway.%[2]s,%[1]s-gateway.%[2]s.svc,%[1]s-gateway.%[2]s.svc.cluster.local" $full .Release.Namespace }}
{{- end }}
{{- if $v.auth.peerSecret.name }}
peer-secret-file: /etc/tidemark/peer-secret/{{ $v.auth.peerSecret.key }}
{{- end }}
{{- if $v.tls.secret }}
tls-cert: /etc/tidemark/tls/tls.crt
tls-key: /etc/tidemark/tls/tls.key
{{- with $v.tls.ca }}
tls-ca: /etc/tidemark/tls/{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Arguments of a container: the flags of .chart, and over them those of .values. */}}
{{- define "tidemark.args" -}}
{{- range $name, $value := mergeOverwrite (dict) .chart .values }}
{{- if kindIs "slice" $value }}
- {{ printf "--%s=%s" $name (join "," $value) | quote }}
{{- else if and (kindIs "float64" $value) (eq (floor $value) $value) }}
- {{ printf "--%s=%d" $name (int64 $value) | quote }}
{{- else }}
- {{ printf "--%s=%v" $name $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The Secrets whose files the flags name: a list of name, Secret. */}}
{{- define "tidemark.secrets" -}}
{{- $v := .Values -}}
{{- $secrets := dict "kafka-ca" $v.kafka.caSecret.name "redis-password" $v.redis.passwordSecret.name "redis-ca" $v.redis.caSecret.name
  "auth-keys" $v.auth.keysSecret.name "peer-secret" $v.auth.peerSecret.name "tls" $v.tls.secret
  "kafka-password" (ternary $v.kafka.passwordSecret.name "" (ne $v.kafka.sasl "")) -}}
{{- range $name, $secret := $secrets }}
{{- if $secret }}
{{ $name }}: {{ $secret }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What the pods of both roles share. .root, .role, .values are given. */}}
{{- define "tidemark.podSpec" -}}
serviceAccountName: {{ include "tidemark.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 60
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $selector := include "tidemark.selector" (dict "root" .root "role" .role) }}
{{- if eq .values.antiAffinity "hard" }}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- $selector | nindent 12 }}
{{- else if eq .values.antiAffinity "soft" }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- $selector | nindent 14 }}
{{- end }}
{{- if .values.topologySpread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
{{- end }}
{{- end -}}

{{/* What the containers of both roles share. */}}
{{- define "tidemark.container" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (ne .root.Values.tls.secret "") -}}
image: {{ printf "%s:%s" .root.Values.image.repository (default (printf "v%s" .root.Chart.AppVersion) .root.Values.image.tag) | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
ports:
  - {name: http, containerPort: 8080}
  - {name: admin, containerPort: 9090}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  {{- toYaml .values.resources | nindent 2 }}
readinessProbe:
  httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 3
livenessProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
startupProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 2
  failureThreshold: 60
lifecycle:
  preStop:
    # The Services stop sending new calls here before the process ends old ones.
    sleep: {seconds: 5}
{{- with .values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
