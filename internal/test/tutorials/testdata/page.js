// Stands in for the page of docs/start/frontend.md, posts a message to Ann, and clicks its channel.

const call = (method, events) => fetch(`http://127.0.0.1:8080/tidemark.ingest.v1.IngestService/${method}`, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ events }),
});
await call('Publish', [
  { message: { channel_id: 'general', members_joined: { user_ids: ['ann', 'bob'] } } },
  { message: { channel_id: 'general', message_posted: { message_id: 'm1', sender_id: 'bob' } } },
]);

const page = { badge: {}, rows: [] };
globalThis.badge = page.badge;
globalThis.list = { replaceChildren: (...rows) => { page.rows = rows; } };
globalThis.document = { visibilityState: 'visible', createElement: () => ({}), addEventListener() {}, removeEventListener() {} };
await import('./page.js');

const until = async (badge, row) => {
  const deadline = Date.now() + 120_000;
  while (page.badge.textContent !== badge || page.rows[0]?.textContent !== row) {
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(page)}`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
};
await until(1, 'general: 1');
page.rows[0].onclick();
await until(0, 'general: 0');
console.log('read');
process.exit(0);
