// Compiled, never run: what TypeScript must accept, and what it must reject.
import { Backoff, Inbox, Observable, TidemarkClient, TidemarkError, byActivity, dominates, levelAt, parseStamp, totalsOf, type ChannelUnread } from '../src/index.js';
import { TidemarkProvider, useBadge, useUnread } from '../react/index.js';
import { CallError, Tidemark } from '../server/index.js';
import * as react from '../react/index.js';
import * as server from '../server/index.js';
import * as backoff from '../src/backoff.js';
import * as client_ from '../src/client.js';
import * as error from '../src/error.js';
import * as inbox_ from '../src/inbox.js';
import * as observable from '../src/observable.js';
import * as stamp from '../src/stamp.js';
import * as totals from '../src/totals.js';

const client = new TidemarkClient({ url: 'wss://chat.example/v1/socket', token: async () => 'header.payload.signature' });
const stop: () => void = client.badge.subscribe((n: number) => console.log(n));
client.on('message.new', (m) => console.log(m.seq + 1, m.preview?.length));
client.on('unread.updated', (u) => console.log(u.unread));
client.inbox.subscribe((inbox) => {
  const first: ChannelUnread | undefined = inbox.sorted[0];
  console.log(first?.unread ?? 'nothing', inbox.totals.mentions);
});
client.markRead('general', 'm1', { private: true }).then((ack) => console.log(ack.after.join()));
client.readState('general').catch((err: unknown) => console.log(err instanceof TidemarkError ? err.code : err));
client.notify('general', 'MENTIONS', { until: new Date(), ignoreMentionAll: true });
client.markAllRead({ label: 'work', threads: true });
client.file('general', true, { keep: true }).then((ack) => console.log(ack.after));
console.log(new Inbox().byLabel().get('work')?.archived.mentions, new Inbox().totals.badge);
// @ts-expect-error there is no such level
client.notify('general', 'LOUD');
// @ts-expect-error a channel is not a number
client.focus(7);
// @ts-expect-error there is no such frame
client.on('message.old', () => {});
stop();

const badge: number | undefined = useBadge();
const mentions: number | undefined = useUnread('general')?.mentions;
console.log(badge, mentions, TidemarkProvider({ client }));
const tidemark = new Tidemark({ url: 'http://127.0.0.1:8080', token: async () => 't' });
tidemark.publish({ message: { channel_id: 'c', message_posted: { message_id: 'm1', sender_id: 'bob' } } }, { read: { channel_id: 'c', user_id: 'ann', channel_muted: { muted: true } } })
  .then((after) => tidemark.unread('ann', 'c', { after })).then((u) => console.log(u.unread + 1, u.as_of.length))
  .catch((err: unknown) => console.log(err instanceof CallError ? err.retryAfter : err));
(async () => { for await (const e of tidemark.watch('ann')) console.log(e.snapshot?.totals.badge, e.update?.channel?.unread); })();
// @ts-expect-error a message has an id
tidemark.post('c', { sender_id: 'bob' });

// The declarations match the code.
const implemented: {
  Backoff: typeof Backoff; Inbox: typeof Inbox; Observable: typeof Observable; TidemarkClient: typeof TidemarkClient;
  TidemarkError: typeof TidemarkError; byActivity: typeof byActivity; dominates: typeof dominates; parseStamp: typeof parseStamp;
  levelAt: typeof levelAt; totalsOf: typeof totalsOf;
} = { ...backoff, ...inbox_, ...observable, ...client_, ...error, ...stamp, ...totals };
console.log(implemented, react, server);
