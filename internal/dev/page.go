package dev

import "html/template"

// indexPage says where everything is, and which calls to try.
var indexPage = template.Must(template.New("index").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tidemark</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  pre { background: #f4f4f4; padding: .7rem 1rem; overflow-x: auto; }
  @media (prefers-color-scheme: dark) { body { background: #151515; color: #ddd } pre { background: #262626 } a { color: #8bf } }
</style>
<h1>Tidemark</h1>
<p>Chat events in, exact unread counts out. This node runs everything in one process.</p>
<ul>
  <li>Kafka: <code>{{.Broker}}</code></li>
  <li>Redis: <code>{{.RedisURL}}</code></li>
  <li><a href="/readyz">/readyz</a>: is every partition live?</li>
  <li><a href="/metrics">/metrics</a>: for Prometheus</li>
  <li><a href="/healthz">/healthz</a></li>
</ul>
<h2>Ask</h2>
<pre>curl -s {{.URL}}/tidemark.query.v1.QueryService/GetInbox \
  -H 'Content-Type: application/json' -d '{"user_id": "ann"}'</pre>
<pre>tidemark query watch ann --addr {{.URL}}</pre>
<h2>Publish</h2>
<pre>curl -s {{.URL}}/tidemark.ingest.v1.IngestService/Publish \
  -H 'Content-Type: application/json' -d '{"events": [{"message": {"channel_id": "general",
    "message_posted": {"message_id": "hello-1", "sender_id": "bob", "preview": "hello"}}}]}'</pre>
</html>
`))
