// Compiled, never run: what a TypeScript program may write, and what it may not.
import { Backoff, Inbox, Observable, TidemarkClient, TidemarkError, byActivity, dominates, levelAt, parseStamp, totalsOf, type ChannelUnread } from '../src/index.js';
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

// What is declared is what there is.
const implemented: {
  Backoff: typeof Backoff; Inbox: typeof Inbox; Observable: typeof Observable; TidemarkClient: typeof TidemarkClient;
  TidemarkError: typeof TidemarkError; byActivity: typeof byActivity; dominates: typeof dominates; parseStamp: typeof parseStamp;
  levelAt: typeof levelAt; totalsOf: typeof totalsOf;
} = { ...backoff, ...inbox_, ...observable, ...client_, ...error, ...stamp, ...totals };
console.log(implemented);
